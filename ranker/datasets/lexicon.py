"""Lists of English words for the rules of marks: closed classes complete, open classes as far as the sets need.

All are in lower case. Contractions are one word, as `factors.types.split_words` cuts them.
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PLAIN_AUXILIARIES = _words(
    "am is are was were has have had do does did can could will would shall should may might must"
)

AUXILIARIES = _PLAIN_AUXILIARIES | {f"{word}n't" for word in _PLAIN_AUXILIARIES} | _words("can't won't shan't cannot")
"""Words that open a finite verb group."""

SINGULAR_AUXILIARIES = _words("is was has does isn't wasn't hasn't doesn't")
PLURAL_AUXILIARIES = _words("are were have do aren't weren't haven't don't")
BE = _words("am is are was were isn't aren't wasn't weren't be been")

BETWEEN = _words("not never always often ever already also just still soon be been being")
"""Words that may stand between an auxiliary and its verb, besides adverbs in -ly."""

DETERMINERS = _words("a an the this that these those some every each all most many few no any several both another")
SINGULAR_DETERMINERS = _words("a an this every each another")
PLURAL_DETERMINERS = _words("these those many most few all several both")

RELATIVES = _words("that who which")
"""Words that open a clause inside a noun phrase."""

PREPOSITIONS = _words(
    "to at through around by up down with about like from of out over into on in off for after before"
)
"""Prepositions and verb particles, which may stand between a verb and its object."""

PARTICLES = _words("away apart asleep awake hard here there well not never")
"""Adverbs that close a verb group and open nothing."""

INTRANSITIVES = _words(
    "appear arise arrive blink boast chat cheer chuckle come complain concur cough cry depart die disagree "
    "disappear donate evaporate exist fall flirt giggle go grin hesitate joke kneel laugh lie listen litter "
    "mutter nod occur perform pray protest react reply respond retaliate rust scream shiver shrug sigh sleep "
    "slump smile snore solidify speculate stumble succeed suffer surrender swallow talk think tip train vanish "
    "vaporize wait wave weep whisper whistle wink yawn yell"
)
"""Verbs that rarely or never take an object."""

IRREGULAR_PLURALS = _words(
    "people men women handymen children teeth feet geese mice oases theses analyses crises bases axes diagnoses "
    "paralyses parentheses synopses syntheses hypotheses fungi alumni stimuli nuclei radii cacti media "
    "phenomena criteria offspring deer sheep fish species series glasses pants wives ex-wives knives"
)

MASS_NOUNS = _words(
    "news evidence speculation information money cash bread beef beer wine water milk coffee tea juice soda "
    "pasta pork rice spinach chicken cake fish hair light music furniture everything something nothing everyone"
)
"""Nouns that need no determiner in the singular."""

CONTENT_NOUNS = _words(
    "fact claim charge report rumor news idea belief notion evidence speculation allegation view hypothesis "
    "story suggestion theory answer hope thought feeling reason"
) | _words("facts claims charges reports rumors ideas beliefs notions allegations views hypotheses stories theories")
"""Nouns whose "that" may open a whole clause: "the claim that the doctor ran"."""

COMPOUNDS = {
    "piano": _words("teacher teachers"),
    "french": _words("teacher teachers"),
    "college": _words("campus campuses"),
    "movie": _words("theater theaters"),
    "grocery": _words("store stores"),
    "public": _words("park parks"),
    "high": _words("school schools"),
    "best": _words("friend friends"),
    "art": _words("gallery galleries"),
    "ice": _words("cream"),
    "newspaper": _words("article articles"),
}
"""First word of a noun of two words -> its second words."""

BASE_LIKE_PASTS = _words(
    "beat bet bid burst cast cost cut hit hurt let put quit read rid set shed shut slit spit split spread thrust upset"
)
"""Irregular past forms that are the plural present, too: "the brothers upset them" is either."""

IRREGULAR_PASTS = BASE_LIKE_PASTS | _words(
    "arose ate awoke bade became began bent bit bled blew bought bound bred broke brought built burnt came "
    "caught chose clung crept dealt dove drank dreamt drew drove dug fed fell felt fled flew flung forbade "
    "forgave forgot forsook fought found froze gave got grew ground had heard held hid hung kept knelt knew "
    "laid lay leant leapt learnt led left lent lit lost made meant met mistook misunderstood outdid overcame "
    "overheard overtook overthrew paid partook rang ran rebuilt rode rose said sang sank sat saw sent shod "
    "shone shook shot showed shrank slept slid slung slew smelt sold sought sped spent spilt spoke sprang stank "
    "stole stood strode strove struck strung stuck stung swam swept swore swung taught thought threw told took "
    "tore trod undertook underwent undid understood upheld went wept withdrew withheld withstood woke won wore "
    "wove wound wrote wrung"
)

ADJECTIVES = _words(
    "afraid angry attractive awful bad beautiful big brave bright broad busy careful careless cheap cheerful "
    "clever clumsy comfortable cowardly crazy cruel curious dangerous difficult disorganized dumb eager easy "
    "elegant enormous expensive famous foolish friendly funny generous gentle glad great greedy grumpy happy "
    "harsh healthy heavy helpful honest hot huge humble hungry ill impatient important impolite intelligent "
    "jealous large lazy lonely lovely loud loyal lucky modest narrow nasty nervous new nice noisy normal obese "
    "odd old ordinary organized pleasant polite poor popular powerful pretty proud quick reliable rich rude sad "
    "scary selfish serious short shy sick silly skinny sleepy slim small smart strange strict strong stubborn "
    "stupid sweet talented tall terrible thick tiny ugly unattractive unhappy unusual useful useless weak weird "
    "wide wise wonderful young youthful"
)

DOUBTFUL_ADJECTIVES = _words(
    "amusing annoying boring calm charming clean cold cool damp dirty disturbing dry dull elderly embarrassing "
    "exciting fat fine giant good interesting intriguing kind little mean open quiet right shocking slow thin "
    "tired upset warm wet"
)
"""Adjectives that are also verbs or nouns; only their position tells."""

SUBORDINATORS = _words("if unless whether before after since because although though while when until whereas once as")
COORDINATORS = _words("and or but nor yet")
SENTENCE_ADVERBS = _words(
    "hopefully probably possibly supposedly maybe perhaps allegedly certainly definitely clearly obviously "
    "suddenly surely evidently apparently presumably truly undoubtedly unfortunately fortunately naturally "
    "indeed"
)
CONTROL_PHRASES = (
    "whether or not",
    "without a doubt",
    "no doubt",
    "of course",
    "provided that",
    "in case",
    "even though",
    "even if",
    "as long as",
    "in fact",
)
"""Control words of more than one word."""

FUNCTION_WORDS = (
    (AUXILIARIES - _words("do does did have has had"))
    | DETERMINERS
    | (PREPOSITIONS - {"like"})
    | SUBORDINATORS
    | COORDINATORS
    | RELATIVES
    | _words(
        "not i you he she it we they me him her us them my your his its our their what whom whose how why where there "
        "here than then so too also very just"
    )
    | frozenset(word.removesuffix("'t") for word in AUXILIARIES if "'" in word)
    | _words("n t s m re ve d ll ca wo sha")
)
"""Words that carry grammar more than content, and pieces of contractions ("doesn", "ll"). "Do", "have", "be" and "like"
are left out, since they are often main verbs."""
