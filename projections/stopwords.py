"""English function and question words: what nearly every text and question has, and no search is about."""

from __future__ import annotations

__all__ = ["STOPWORDS"]

STOPWORDS = frozenset(
    """
    a about above across after again against ago all almost along already also although always am among an and any
    anybody anyone anything are aren't around as at away be became because become been before being below between
    both but by came can can't cannot could couldn't did didn't do does doesn't doing don't done down during each
    either else ever every everyone everything few for from further get gets getting give given gives go goes going
    gone got had hadn't has hasn't have haven't having he he'd he'll he's hence her here here's hers herself him
    himself his how how's however i i'd i'll i'm i've if in instead into is isn't it it'd it'll it's its itself just
    let let's lot made make makes many maybe me might mine more most much must my myself neither never no nobody
    none nor not nothing now of off often on once one only onto or other others ought our ours ourselves out over own
    perhaps quite rather really s same say says shall she she'd she'll she's should shouldn't since so some somebody
    someone something still such t than that that's the their theirs them themselves then there there's these they
    they'd they'll they're they've this those though through thus to together too toward towards under until up upon
    us very was wasn't we we'd we'll we're we've well were weren't what what's whatever when when's whenever where
    where's wherever whether which while who who's whoever whom whose why why's will with within without won't would
    wouldn't yes yet you you'd you'll you're you've your yours yourself yourselves
    """.split()  # noqa: SIM905 -- as a list it would be two hundred lines
)
