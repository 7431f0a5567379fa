"""What people are, have and belong to: the nouns and adjectives that make a pattern's value certain."""

from __future__ import annotations

from gateways.extraction.offline.words import listed

__all__ = [
    "CONDITIONS",
    "DIETS",
    "FAITHS",
    "INSTRUMENTS",
    "NATIONALITIES",
    "NOT_A_TRADE",
    "OWNED",
    "PETS",
    "RELATIONS",
    "SINGLE_RELATIONS",
    "STATUSES",
    "TRADES",
    "WORKPLACES",
]

TRADES = listed("""
    accountant actor actress actuary administrator agronomist analyst anaesthetist anesthesiologist animator
    anthropologist apprentice archaeologist architect archivist artist astronomer astrophysicist attorney
    auditor author babysitter baker barber barista bartender biochemist biologist blacksmith bookkeeper botanist
    bricklayer broker builder butcher captain cardiologist caregiver carer carpenter cartographer cashier
    caterer cellist chemist chef chiropractor choreographer clerk cobbler columnist comedian composer conductor
    consultant contractor cop copywriter counselor counsellor curator dancer dentist dermatologist designer
    detective developer dietitian diplomat director dj doctor doula driver ecologist economist editor
    electrician engineer entrepreneur epidemiologist farmer filmmaker firefighter fisherman florist forester
    founder gardener geneticist geographer geologist goldsmith hairdresser handyman historian housekeeper
    housewife illustrator immunologist instructor interpreter investigator janitor jeweller jeweler journalist
    judge lawyer lecturer librarian lifeguard linguist locksmith magistrate manager mason mathematician mechanic
    meteorologist microbiologist midwife miner minister musician nanny neurologist neuroscientist neurosurgeon
    notary novelist nurse nutritionist oncologist optician optometrist orthodontist painter paralegal paramedic
    pathologist pastor pediatrician paediatrician pharmacist philosopher photographer physician physicist
    physiotherapist pianist pilot plasterer plumber podcaster poet policeman policewoman postdoc postman potter
    priest principal printmaker producer professor programmer psychiatrist psychologist psychotherapist
    publisher rabbi radiologist realtor receptionist recruiter researcher roofer sailor salesman salesperson
    saleswoman scientist screenwriter sculptor seamstress secretary sociologist soldier solicitor sommelier
    statistician stonemason streamer student superintendent supervisor surgeon surveyor tailor teacher
    technician teller therapist tiler translator tutor undertaker veterinarian vet violinist virologist waiter
    waitress watchmaker welder winemaker woodworker writer youtuber zoologist freelancer veteran undergraduate
    postgraduate sysadmin paediatrician sre cto ceo cfo dba
""")
#: Before a trade, they make it a manner of speaking.
NOT_A_TRADE = listed("""
    bad terrible horrible awful great good excellent amazing decent lousy mediocre natural big huge total
    complete real true born better worse best worst failed aspiring wannabe armchair backseat wonderful
    fantastic fast slow hard quick safe careful keen perpetual eternal lifelong little bit kind sort future
    would-be not proud happy pretty
""")
DIETS = listed("""
    vegan vegetarian pescatarian flexitarian halal kosher gluten-free lactose_intolerant
""")
FAITHS = listed("""
    muslim christian catholic protestant jewish hindu buddhist sikh atheist agnostic orthodox mormon quaker
""")
STATUSES = {
    trait: attribute
    for attribute, traits in {
        "marital_status": "married single divorced widowed engaged separated",
        "employment": "retired unemployed self-employed",
        "handedness": "left-handed right-handed ambidextrous",
        "colour_vision": "colour-blind color-blind colorblind colourblind",
        "hearing": "deaf",
        "sight": "blind",
        "diabetes": "diabetic",
        "dyslexia": "dyslexic",
        "autism": "autistic",
        "epilepsy": "epileptic",
        "asthma": "asthmatic",
        "gender": "transgender trans non-binary nonbinary",
        "orientation": "bisexual gay lesbian asexual",
        "pregnancy": "pregnant",
        "languages": "bilingual",
    }.items()
    for trait in traits.split()
}
NATIONALITIES = listed("""
    afghan albanian algerian american angolan argentinian argentine armenian australian austrian azerbaijani
    bangladeshi belarusian belgian bolivian bosnian brazilian british bulgarian cambodian cameroonian canadian
    chilean chinese colombian congolese croatian cuban cypriot czech danish dominican dutch ecuadorian egyptian
    english eritrean estonian ethiopian filipino finnish french georgian german ghanaian greek guatemalan
    haitian honduran hungarian icelandic indian indonesian iranian iraqi irish israeli italian ivorian jamaican
    japanese jordanian kazakh kenyan korean kuwaiti latvian lebanese libyan lithuanian luxembourgish malaysian
    maltese mexican moldovan mongolian moroccan nepalese nepali nicaraguan nigerian norwegian pakistani
    palestinian panamanian paraguayan peruvian polish portuguese romanian russian rwandan salvadoran saudi
    scottish senegalese serbian singaporean slovak slovenian somali spanish sudanese swedish swiss syrian
    taiwanese tanzanian thai tunisian turkish ugandan ukrainian uruguayan uzbek venezuelan vietnamese welsh
    yemeni zambian zimbabwean south_african south_korean new_zealander puerto_rican
""")
SINGLE_RELATIONS = listed("""
    wife husband partner girlfriend boyfriend fiancé fiancée fiance fiancee spouse mother mom mum father dad
    boss manager supervisor best_friend mother-in-law father-in-law stepmother stepfather stepmom stepdad
    therapist doctor dentist
""")
RELATIONS = SINGLE_RELATIONS | listed("""
    sister brother son daughter aunt uncle cousin grandmother grandma grandfather grandpa niece nephew grandson
    granddaughter friend roommate flatmate housemate neighbour neighbor colleague coworker co-worker teacher
    coach mentor sister-in-law brother-in-law stepson stepdaughter stepbrother stepsister godson goddaughter kid
    child baby twin tutor landlord landlady physiotherapist
""")
PETS = listed("""
    dog cat puppy kitten parrot budgie hamster rabbit bunny horse pony turtle tortoise goldfish snake lizard
    gecko ferret guinea_pig pup chinchilla iguana donkey goat
""")
#: What is worth remembering that somebody has, in the singular.
OWNED = (
    PETS
    | listed("""
    sister brother son daughter kid child grandchild grandson granddaughter sibling cousin stepson
""")
    | listed("""
    car motorbike motorcycle bicycle bike e-bike van boat sailboat motorhome caravan truck piano guitar violin
    house cottage farm greenhouse vineyard allotment
""")
)
INSTRUMENTS = listed("""
    piano guitar violin viola cello drums flute clarinet saxophone sax trumpet trombone harp accordion ukulele
    banjo bass mandolin oboe bassoon organ harmonica keyboard tennis football soccer basketball volleyball
    badminton squash golf hockey rugby cricket chess baseball softball handball pickleball
""")
CONDITIONS = listed("""
    asthma diabetes adhd add epilepsy arthritis eczema psoriasis hypertension celiac coeliac dyslexia autism
    migraines tinnitus insomnia hypothyroidism endometriosis sleep_apnea celiac_disease coeliac_disease
    type_1_diabetes type_2_diabetes high_blood_pressure crohn's_disease hay_fever vertigo
""")
WORKPLACES = listed("""
    hospital clinic bank school university college library museum startup start-up company firm bakery cafe café
    restaurant bar hotel factory lab laboratory studio agency nursery kindergarten daycare pharmacy bookshop
    bookstore garage shop store supermarket warehouse nonprofit non-profit charity ngo publisher newspaper gym
    spa salon theatre theater gallery zoo farm brewery winery airport court ministry embassy shelter
""")
