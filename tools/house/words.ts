/** A term of the project with its one meaning. */
export interface Term {
  term: string;
  meaning: string;
}

/** Terms that the code, the documents and the messages use, each in one meaning. At most 30 terms, at most 20 words each. */
export const TERMS: readonly Term[] = [
  {
    term: 'owner tag',
    meaning: 'The mark on each object that the daemon created: the installation and the encrypted record id.',
  },
  {
    term: 'subscription',
    meaning:
      'A vendor reports changes of a calendar until the subscription expires. Each report starts a check of the target.',
  },
  {
    term: 'tenant',
    meaning: 'One clinic in the configuration, the command line and the API. Pages call a tenant *clinic*.',
  },
  {
    term: 'managed tenant',
    meaning: 'A tenant that was configured through the API. Redis stores its encrypted configuration.',
  },
  { term: 'installation', meaning: 'All tenants of one configuration, with one Redis and one identity key.' },
  { term: 'stream', meaning: 'One kind of record that the clinic API returns: appointments, patients or invoices.' },
  { term: 'record', meaning: 'One appointment, patient or invoice, after the clinic profile mapped its fields.' },
  {
    term: 'clinic profile',
    meaning: 'A file that describes the paths, fields, paging and time formats of one clinic API.',
  },
  {
    term: 'snapshot',
    meaning:
      'The records of one fetch: *complete* if the end of the list was proved, otherwise *changes* or *partial*.',
  },
  {
    term: 'target',
    meaning: 'One configured destination of one stream: the calendar of a practitioner, or the contacts of a CRM.',
  },
  { term: 'connector', meaning: 'The module that reads and writes the targets of one vendor.' },
  { term: 'event', meaning: 'The object in a calendar that shows one appointment.' },
  { term: 'item', meaning: 'In code: the event, contact or object that a target should hold for one record.' },
  {
    term: 'object key',
    meaning: 'The identifier that the daemon chooses for an object: a keyed hash of the record id.',
  },
  {
    term: 'id attempt',
    meaning:
      'The number in an object key that increases when a vendor refuses to reuse the identifier of a deleted object.',
  },
  { term: 'link', meaning: 'The stored state of one record in one target: fingerprint, version tag, revision, time.' },
  {
    term: 'fingerprint',
    meaning: 'A keyed hash of an event or object. If the fingerprints are equal, the daemon writes nothing.',
  },
  {
    term: 'cycle',
    meaning: 'One run for one tenant, every five minutes: fetch, compare, guard, store the changes.',
  },
  { term: 'plan', meaning: 'The changes that a cycle selected for its targets, with a reason for each change.' },
  { term: 'guard', meaning: 'The limits on removals and on mass changes that every plan passes.' },
  {
    term: 'hold',
    meaning: 'Changes above a limit of the guard. They wait until an operator releases or discards them.',
  },
  { term: 'outbox', meaning: 'The encrypted changes of a target that the vendor has not confirmed yet.' },
  { term: 'lane', meaning: 'The one worker that writes to a target at a time, under a lease.' },
  { term: 'lease', meaning: 'A lock in Redis that expires, with a fencing number that every write under it states.' },
  {
    term: 'drift',
    meaning: 'A manual change to an event or object. The policy of the target repairs, keeps or reports the change.',
  },
  {
    term: 'audit',
    meaning: 'The comparison of a target with the stored links. The *audit log* records actions of operators.',
  },
  { term: 'pin', meaning: 'A record that an operator restored. The rules of a target do not remove the record again.' },
  {
    term: 'connection',
    meaning: 'The authorization that a vendor granted for a tenant. Operators *sign in* to pages and API.',
  },
  {
    term: 'state counter',
    meaning: 'A counter in Redis with a copy in the data directory. A lower counter shows that Redis lost writes.',
  },
  {
    term: 'operation',
    meaning: 'In `operator/operations/`: one declared request of an operator. In a plan: one write to a target.',
  },
];

/** A word with several meanings, in all its forms, and its replacements in names. */
export interface AmbiguousWord {
  forms: readonly string[];
  use: string;
}

export const AMBIGUOUS_WORDS: readonly AmbiguousWord[] = [
  { forms: ['settle', 'settled', 'settles', 'settling'], use: 'finish, confirm, complete, idle, stable' },
  { forms: ['standing', 'standings', 'stands'], use: 'state, existing, pending, backlog' },
  { forms: ['doubt', 'doubted', 'doubts'], use: 'uncertain, distrust, obstacle' },
  { forms: ['verdict', 'verdicts'], use: 'result, decision' },
  { forms: ['generation', 'generations'], use: 'configVersion, layoutVersion, recreations' },
  { forms: ['epoch', 'epochs'], use: 'stateCounter, idAttempt; the Unix epoch may be named' },
  { forms: ['near'], use: 'soon (the next 48 hours), suggestions' },
  { forms: ['outlook'], use: 'forecast; the product Outlook may be named' },
  { forms: ['told', 'tell', 'tells', 'telling'], use: 'report, reported, sent, log, describe' },
  { forms: ['kept', 'keep', 'keeps', 'keeping', 'keeper'], use: 'stored, cached, retained, retention' },
  { forms: ['known'], use: 'stored, cached, configured, defined' },
  { forms: ['place', 'places', 'placed'], use: 'location, key, position, context' },
  { forms: ['desk', 'desks'], use: 'services' },
  { forms: ['given'], use: 'props, request, options, the name of the value' },
  { forms: ['left'], use: 'remaining, skipped, omitted' },
  { forms: ['beside', 'besides'], use: 'extra' },
  { forms: ['whoever'], use: 'caller' },
  { forms: ['note', 'notes', 'noted', 'noting'], use: 'record, set, mark, warning' },
  { forms: ['aside'], use: 'invalid, quarantined' },
  { forms: ['basis'], use: 'context' },
  { forms: ['lasting'], use: 'shared cache' },
  { forms: ['paper'], use: 'output options' },
  { forms: ['shelf'], use: 'feed store' },
  { forms: ['surroundings'], use: 'settings and profiles' },
  { forms: ['twin', 'twins'], use: 'duplicate' },
];

/** Names in which an ambiguous word is the standard term: products, HTTP, Unix time, URI and law. */
export const STANDARD_NAMES =
  /outlook-?calendar|microsoft|outlook(Calendar|Event|Connector)|^placeholder|keep_?(socket_?)?alive|wellKnown|legalBasis|(unix|from|is|first)_?epoch|epoch_?(ms|seconds|unit)/i;

/** The glossary as a table in Markdown, in the order of the alphabet. */
export function renderTerms(terms: readonly Term[]): string {
  const sorted = terms.toSorted((one, other) => (one.term < other.term ? -1 : 1));
  return ['| term | meaning |', '|---|---|', ...sorted.map(({ term, meaning }) => `| ${term} | ${meaning} |`)].join(
    '\n',
  );
}

/** The words that names avoid as a table in Markdown, in the order of the alphabet. */
export function renderWords(words: readonly AmbiguousWord[]): string {
  const rows = words.map(({ forms, use }) => `| ${forms.join(', ')} | ${use} |`).toSorted();
  return ['| not in names | use |', '|---|---|', ...rows].join('\n');
}
