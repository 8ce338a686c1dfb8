import type { SourceFile } from './architecture.ts';
import type { Token } from './source-scanner.ts';

/** Modules that ask other people's servers: how often they ask must not be these servers' choice. */
const ASKING_MODULES = [
  'connectors',
  'oauth',
  'clinic',
  'core/http',
  'core/mail',
  'features/alerts',
  'features/reminders',
  'features/triggers',
  'setup',
];

/** Loops that ask and end otherwise: how many a file has of them, and why. */
const ENDING_LOOPS: Readonly<Record<string, readonly [count: number, why: string]>> = {
  'src/clinic/read/lists.ts': [1, 'limits.rereads of the profile counts them down'],
  'src/clinic/read/list-calls.ts': [
    3,
    'each round takes the oldest of the calls that run, at most requestsAtOnce; limits.rereads counts repetitions down',
  ],
  'src/clinic/read/gathering.ts': [1, 'it goes over pages in memory, and asks no server'],
  'src/clinic/http/paging.ts': [1, 'each page and each position is read once, and maxPages of the profile bounds them'],
  'src/clinic/read/place-zones.ts': [1, 'each round reads the locations or finds another zone, at most MOST_ZONES'],
  'src/clinic/write/resource-calls.ts': [1, 'it goes over the pages of a list that is guarded'],
  'src/clinic/http/call.ts': [2, 'a file ends, with its connection or its largest size'],
  'src/connectors/xml.ts': [1, 'it reads a document of limited size in memory, in pieces'],
  'src/connectors/outcomes.ts': [1, 'each call has half of the operations or keys'],
  'src/connectors/flow.ts': [
    2,
    'each round of a batch settles a call or halves it; each flow is finite, and its walks are guarded',
  ],
  'src/connectors/hubspot/deleting.ts': [1, 'each round has fewer names'],
  'src/connectors/hubspot/properties.ts': [1, 'once more without being unique'],
  'src/connectors/hubspot/rows.ts': [1, 'each round settles rows or halves their batch'],
  'src/connectors/rest-crm/writing.ts': [2, 'each call has half of the rows'],
  'src/connectors/salesforce/writing.ts': [1, 'each call takes rows off the list, and puts each back once'],
  'src/setup/init/tenant-part.ts': [1, 'a person answers each question'],
  'src/setup/init/written-files.ts': [1, 'a person answers each question; a file of answers ends it'],
  'src/oauth/device-login.ts': [1, 'a code expires'],
};

/**
 * Finds loops that send requests and whose end depends only on the remote server: without a counter (`for (…; page < MOST; page += 1)`) and
 * without a `visit` of {@link guardWalk}. A function that calls itself after a request is such a loop.
 */
export function vendorLoopBreaches(files: readonly SourceFile[], ending = ENDING_LOOPS): string[] {
  const asking = files.filter(({ path }) => ASKING_MODULES.some((module) => path.startsWith(`src/${module}/`)));
  const found = new Map(
    asking.map(({ path, tokens }) => [path, [...unboundedLoops(tokens), ...askingAgain(tokens)]] as const),
  );
  const paths = new Set([...found.keys(), ...Object.keys(ending)]);
  return [...paths].flatMap((path) => {
    const lines = found.get(path) ?? [];
    const [count] = ending[path] ?? [0];
    if (lines.length === count) return [];
    if (lines.length < count) return [`${path} has fewer such loops than are listed`];
    return lines.map((line) => `${path}:${line} repeats requests without a limit: use guardWalk`);
  });
}

/** Lines of loops that ask in their body and have neither a counter nor a guard. */
function unboundedLoops(tokens: readonly Token[]): number[] {
  const tails = new Set<number>();
  return tokens.flatMap((token, at) => {
    if (token.kind !== 'word' || !['while', 'do', 'for'].includes(token.text) || tails.has(at)) return [];
    const head = token.text === 'do' ? [] : within(tokens, at + 1);
    const bodyAt = token.text === 'do' ? at + 1 : at + head.length + 3;
    const body = bodyOf(tokens, bodyAt);
    if (token.text === 'do') tails.add(bodyAt + body.length + 2);
    // Iterates over existing data: `for (const each of all)`.
    if (token.text === 'for' && !isClassic(head)) return [];
    const isGuarded = body.some(({ text }, index) => text === 'visit' && body[index + 1]?.text === '(');
    return asks(body) && !isGuarded && !isCounted(head) ? [token.line] : [];
  });
}

/** Lines on which a function asks and then calls itself. */
function askingAgain(tokens: readonly Token[]): number[] {
  return tokens.flatMap((token, at) => {
    const name = tokens[at + 1];
    if (token.text !== 'function' || token.kind !== 'word' || name?.kind !== 'word') return [];
    const parametersAt = tokens.findIndex((each, index) => index > at && isSign(each, '('));
    const afterAt = parametersAt + within(tokens, parametersAt).length + 2;
    const openAt = tokens.findIndex((each, index) => index >= afterAt && isSign(each, '{') && !isType(tokens, index));
    const body = openAt < 0 ? [] : within(tokens, openAt);
    const calls = body.filter(({ text, kind }, index) => {
      const [before, star] = [body[index - 1], body[index - 2]];
      const isAwaited = before?.text === 'await' || (before?.text === '*' && star?.text === 'yield');
      return kind === 'word' && text === name.text && isAwaited && body[index + 1]?.text === '(';
    });
    return calls.map(({ line }) => line);
  });
}

/** Whether a brace belongs to a type, as in `Promise<{ … }>` or `: { … }`. */
function isType(tokens: readonly Token[], at: number): boolean {
  return ['<', ':', '|', ','].includes(tokens[at - 1]?.text ?? '');
}

/** Returns the tokens inside the brackets that open at a token. */
function within(tokens: readonly Token[], at: number): Token[] {
  let depth = 0;
  for (let end = at; end < tokens.length; end += 1) {
    const token = tokens[end];
    if (token?.kind !== 'sign') continue;
    if ('({['.includes(token.text)) depth += 1;
    if (')}]'.includes(token.text)) depth -= 1;
    if (depth === 0) return tokens.slice(at + 1, end);
  }
  return [];
}

function bodyOf(tokens: readonly Token[], at: number): Token[] {
  if (isSign(tokens[at], '{')) return within(tokens, at);
  const end = tokens.findIndex((token, index) => index > at && isSign(token, ';'));
  return tokens.slice(at, end);
}

function isClassic(head: readonly Token[]): boolean {
  return head.filter((token) => isSign(token, ';')).length >= 2;
}

/** Decides whether a loop compares a counter with a bound: only the head of a classic `for` shows both. */
function isCounted(head: readonly Token[]): boolean {
  if (!isClassic(head)) return false;
  const first = head.findIndex((token) => isSign(token, ';'));
  const last = head.findLastIndex((token) => isSign(token, ';'));
  return head.slice(first, last).some(({ text }) => text === '<') && head.slice(last).some(({ text }) => text === '+');
}

function asks(body: readonly Token[]): boolean {
  return body.some(({ kind, text }) => kind === 'word' && ['await', 'yield'].includes(text));
}

function isSign(token: Token | undefined, text: string): boolean {
  return token?.kind === 'sign' && token.text === text;
}
