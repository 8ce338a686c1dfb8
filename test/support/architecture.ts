import { posix } from 'node:path';
import { readSource } from '../../tools/house/source.ts';
import { type Import, importsOf, linesWith, type Token, tokensOf } from './source-scanner.ts';

type ReadSource = ReturnType<typeof readSource>;

/** A file of the project by its path from the root ("src/engine/plan.ts"). */
export interface SourceFile {
  readonly path: string;
  readonly source: string;
  readonly tokens: readonly Token[];
  readonly imports: readonly Import[];
  /** Computed at first use. */
  readonly read: ReadSource;
}

export function sourceFile(path: string, source: string): SourceFile {
  const tokens = tokensOf(source);
  let read: ReadSource | null = null;
  return {
    path,
    source,
    tokens,
    imports: importsOf(tokens),
    get read() {
      read ??= readSource(path, source);
      return read;
    },
  };
}

/** Each feature is a separate module and imports no other feature. `features/` itself joins them. */
export const FEATURES = [
  'alerts',
  'backup',
  'feeds',
  'forget',
  'holds',
  'managed-tenants',
  'match',
  'reminders',
  'retention',
  'triggers',
  'undo',
].map((name) => `features/${name}`);

/** The modules of src/, lowest first. A module imports only from lower lines. A folder of a module may be a module itself. */
const LEVELS: readonly (readonly string[])[] = [
  ['messages'],
  ['core/model', 'core/log'],
  ['described-api'],
  ['core/pieces'],
  ['engine'],
  ['clinic/schema'],
  ['settings'],
  ['core/http', 'core/mail'],
  ['clinic', 'connectors', 'state', 'oauth', 'core/telemetry'],
  ['domain'],
  ['jobs'],
  ['tenant'],
  ['operator/control'],
  ['operator/documents', 'operator/codes'],
  ['operator/operations'],
  FEATURES,
  ['features'],
  ['operator/http-server', 'operator/mcp-server', 'operator/cli'],
  ['daemon', 'setup'],
  ['main.ts'],
  ['command-line.ts'],
  ['cli.ts'],
];

/** Folders within a module, lowest first. Each imports only from earlier folders, and from no file next to the folders. */
const FOLDERS: Readonly<Record<string, readonly string[]>> = {
  clinic: ['http', 'read', 'write'],
  setup: ['profile-finder', 'check-spec', 'probe', 'init'],
};

/** Modules that lie above the HTTP client and still never use it. */
const WITHOUT_NETWORK = ['engine', 'domain', 'state'];

/** Modules that receive only finished events and texts, never a patient. */
const WITHOUT_PATIENTS = ['src/connectors/', 'src/features/reminders/channels/', 'src/core/http/'];

/** Stores of the engine: `engine/store.ts` has their ports. */
const STORES_OF_THE_ENGINE = ['links', 'outbox', 'targets', 'recent-objects', 'tombstones'];

/** Returns breaches of this rule: a feature uses the stores of the engine by the engine's ports, and declares further members in its own interface. */
export function featureBreaches(files: readonly SourceFile[]): string[] {
  const stores = STORES_OF_THE_ENGINE.map((name) => `src/state/${name}.ts`);
  return relativeImports(files)
    .filter(({ from, to }) => from.startsWith('src/features/') && stores.includes(to))
    .map(({ place, to }) => `${place} imports ${to}: a feature uses the engine's ports (engine/store.ts)`);
}

/** Returns breaches of this rule: patient data is removed before the outgoing modules, so these modules import no patient types. */
export function patientBreaches(files: readonly SourceFile[]): string[] {
  const known = ['src/core/model/records.ts', 'src/core/model/patient-facts.ts'];
  return relativeImports(files)
    .filter(({ from, to }) => known.includes(to) && WITHOUT_PATIENTS.some((place) => from.startsWith(place)))
    .map(({ place, to }) => `${place} imports ${to}: this module must not receive patients`);
}

/** Folders next to src/ that each top folder never imports. */
const FORBIDDEN_FOLDERS: Readonly<Record<string, readonly string[]>> = {
  src: ['examples', 'sandbox', 'demo', 'test', 'tools', 'bench'],
  examples: ['sandbox', 'demo', 'test', 'tools', 'bench'],
  sandbox: ['src', 'demo', 'test', 'tools', 'bench'],
  demo: ['test'],
};

/** Which modules of src/ know a package. */
const PACKAGE_OWNERS: Readonly<Record<string, readonly string[]>> = {
  bullmq: ['jobs'],
  ioredis: ['state', 'jobs'],
  '@opentelemetry': ['core/telemetry'],
};

const PURE_MODULES = ['messages', 'engine', 'domain', 'core/model'];
const IMPURE_MODULES = /^(node:)?(net|tls|dgram|dns|https?|http2|fs|child_process|worker_threads)(\/|$)|^undici$/;
const IMPURE_CODE = ['Date.now', 'new Date()', 'performance.now', 'Temporal.Now', 'Math.random'];

/** What each folder in src/connectors/ has at least. */
export const VENDOR_FILES = ['index.ts', 'connector.ts', 'schemas.ts', 'errors.ts', 'README.md'];

/**
 * Permitted module state: it belongs to the process, or never becomes invalid (timers' clock, the thread's queue, time zones, text
 * outlines).
 */
const OWN_STATE = ['src/core/http/client.ts', 'src/core/model/time.ts', 'src/connectors/icalendar-zones.ts'];

const MAXIMUM_FUNCTION_LINES = 70;
const MAXIMUM_PARAMETERS = 4;

/** Modules that synchronise any records with any objects. */
const ENGINE_MODULES = ['engine', 'state', 'jobs'];
/** Words of what a clinic puts where, and names of vendors; also within names such as `agendaIds`. The event loop is Node's. */
const DOMAIN_WORDS = new RegExp(
  [
    ...[
      'appointment',
      'patient',
      'agenda',
      'doctor',
      'clinic(?![-_]mirror)',
      'calendar',
      'contact',
      'reminder',
      'trigger',
    ],
    ...['google', 'outlook', 'microsoft', 'caldav', 'hubspot', 'salesforce'],
  ]
    .map((word) => `[${word.charAt(0)}${word.charAt(0).toUpperCase()}]${word.slice(1)}`)
    .concat(
      '(?<![A-Za-z])(?:crm|CRM)',
      'Crm',
      '(?<![A-Za-z])events?(?![a-z]| loop)',
      'Events?(?![a-z]|Listener|Emitter)',
    )
    .join('|'),
);

/** Returns each place at which the engine says a word of the domain: it can be read, tested and used without a clinic. */
export function domainWordBreaches(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path }) => ENGINE_MODULES.some((module) => path.startsWith(`src/${module}/`)))
    .flatMap(({ path, source }) =>
      source.split('\n').flatMap((line, index) => {
        const word = DOMAIN_WORDS.exec(line)?.[0];
        return word === undefined ? [] : [`${path}:${index + 1} says "${word}"`];
      }),
    );
}

export function moduleBreaches(files: readonly SourceFile[]): string[] {
  const unknown = files
    .filter(({ path }) => path.startsWith('src/') && levelOf(moduleOf(path)) === -1)
    .map(({ path }) => `${path}: "${moduleOf(path)}" is not a module of src/`);
  const wrong = relativeImports(files.filter(({ path }) => levelOf(moduleOf(path)) !== -1))
    .filter(
      ({ from, to }) => from.startsWith('src/') && to.startsWith('src/') && !mayImport(moduleOf(from), moduleOf(to)),
    )
    .map(({ place, to }) => `${place} imports ${to}, which is not in a lower module`);
  return [...unknown, ...wrong];
}

export function innerBreaches(files: readonly SourceFile[]): string[] {
  const rankOf = (path: string) => {
    const order = FOLDERS[moduleOf(path)] ?? [];
    const rank = order.indexOf(path.split('/')[2] ?? '');
    return rank === -1 ? order.length : rank;
  };
  return relativeImports(inSource(files))
    .filter(({ from, to }) => moduleOf(from) === moduleOf(to) && rankOf(from) < rankOf(to))
    .map(({ place, to }) => `${place} imports ${to}, which is not in a lower folder`);
}

export function folderBreaches(files: readonly SourceFile[]): string[] {
  return relativeImports(files)
    .filter(({ from, to }) => FORBIDDEN_FOLDERS[topFolder(from)]?.includes(topFolder(to)))
    .map(({ place, from, to }) => `${place} imports ${to}: ${topFolder(from)}/ never imports ${topFolder(to)}/`);
}

/** @param paths every file in src/connectors/, of any kind */
export function connectorBreaches(files: readonly SourceFile[], paths: readonly string[]): string[] {
  const registry = 'src/connectors/registry.ts';
  const vendors = [...new Set(paths.map(vendorOf).filter((vendor) => vendor !== undefined))];
  const imports = relativeImports(files).filter(({ from }) => from.startsWith('src/connectors/'));
  const crossing = imports
    .filter(({ from, to }) => vendorOf(to) !== undefined && vendorOf(to) !== vendorOf(from) && from !== registry)
    .map(({ place, to }) => `${place} imports ${to}: only registry.ts knows the vendors`);
  const unregistered = vendors
    .filter((vendor) => !imports.some(({ from, to }) => from === registry && vendorOf(to) === vendor))
    .map((vendor) => `src/connectors/${vendor} is not in registry.ts`);
  const incomplete = vendors.flatMap((vendor) =>
    VENDOR_FILES.map((name) => `src/connectors/${vendor}/${name}`)
      .filter((path) => !paths.includes(path))
      .map((path) => `${path} is missing`),
  );
  return [...crossing, ...unregistered, ...incomplete];
}

/**
 * Returns the imports of the files that the daemon loads: of its work (`main.ts`) all, of its process (`cli.ts`) those at the start, because
 * the work of another command loads when that command runs. Types are not loaded.
 */
function importsOfDaemon(files: readonly SourceFile[]): RelativeImport[] {
  const byPath = new Map(files.map((file) => [file.path, file]));
  const loadedFrom = (start: string, importsOf: (file: SourceFile) => readonly string[]) => {
    const found: RelativeImport[] = [];
    const paths = new Set([start]);
    for (const path of paths) {
      const file = byPath.get(path);
      if (file === undefined) continue;
      const loaded = new Set(importsOf(file));
      const own = relativeImports([
        { ...file, imports: file.imports.filter(({ specifier }) => loaded.has(specifier)) },
      ]);
      for (const { to } of own) paths.add(to);
      found.push(...own);
    }
    return found;
  };
  return [
    ...loadedFrom('src/main.ts', ({ read }) => read.imports),
    ...loadedFrom('src/cli.ts', ({ read }) => read.importsAtStart),
  ];
}

/** Returns the paths of the files that the daemon loads, by their imports. */
export function daemonFiles(files: readonly SourceFile[]): Set<string> {
  return new Set(importsOfDaemon(files).flatMap(({ from, to }) => [from, to]));
}

/** The commands that set up a clinic load `setup/` when they run; the daemon never loads it. */
export function setupBreaches(files: readonly SourceFile[]): string[] {
  const breaches = importsOfDaemon(files)
    .filter(({ from, to }) => to.startsWith('src/setup/') && !from.startsWith('src/setup/'))
    .map(({ place, to }) => `${place} imports ${to}: the daemon would load it`);
  return [...new Set(breaches)];
}

/** One breach for each import that closes a circle. */
export function cycleBreaches(files: readonly SourceFile[]): string[] {
  const targets = new Map(files.map((file) => [file.path, relativeImports([file]).map(({ to }) => to)]));
  const breaches: string[] = [];
  const finished = new Set<string>();
  const visit = (path: string, trail: readonly string[]) => {
    const start = trail.indexOf(path);
    if (start !== -1) breaches.push(`import cycle: ${[...trail.slice(start), path].join(' → ')}`);
    if (start !== -1 || finished.has(path)) return;
    for (const target of targets.get(path) ?? []) visit(target, [...trail, path]);
    finished.add(path);
  };
  for (const path of targets.keys()) visit(path, []);
  return breaches;
}

export function packageBreaches(files: readonly SourceFile[]): string[] {
  return inSource(files).flatMap(({ path, imports }) =>
    imports.flatMap(({ specifier, line }) => {
      const owners = Object.entries(PACKAGE_OWNERS).find(
        ([name]) => specifier === name || specifier.startsWith(`${name}/`),
      );
      if (owners === undefined || owners[1].includes(moduleOf(path))) return [];
      return [`${path}:${line} imports ${specifier}: only ${owners[1].join(' and ')} may`];
    }),
  );
}

export function purityBreaches(files: readonly SourceFile[]): string[] {
  return inSource(files)
    .filter(({ path }) => PURE_MODULES.includes(moduleOf(path)))
    .flatMap(({ path, imports, tokens }) => [
      ...imports
        .filter(({ specifier }) => IMPURE_MODULES.test(specifier))
        .map(({ specifier, line }) => `${path}:${line} imports ${specifier}: ${moduleOf(path)}/ is pure`),
      ...IMPURE_CODE.flatMap((code) =>
        linesWith(tokens, code).map(
          (line) => `${path}:${line} uses ${code}: ${moduleOf(path)}/ takes it as an argument`,
        ),
      ),
    ]);
}

/** A list of tests is as long as there are cases; each test and each helper is bounded. */
export function functionLengthBreaches(files: readonly SourceFile[]): string[] {
  return files.flatMap(({ path, read }) =>
    read.functions
      .filter(
        ({ lines, declaresTests }) => lines > MAXIMUM_FUNCTION_LINES && !(declaresTests && path.startsWith('test/')),
      )
      .map(
        ({ name, line, lines }) => `${path}:${line} ${name} has ${lines} lines, more than ${MAXIMUM_FUNCTION_LINES}`,
      ),
  );
}

/** Functions of src/ take at most four parameters, or one object. */
export function parameterBreaches(files: readonly SourceFile[]): string[] {
  return inSource(files).flatMap(({ path, read }) =>
    read.functions
      .filter(({ parameters }) => parameters > MAXIMUM_PARAMETERS)
      .map(({ name, line, parameters }) => `${path}:${line} ${name} takes ${parameters} parameters`),
  );
}

export function consoleBreaches(files: readonly SourceFile[]): string[] {
  return inSource(files)
    .filter(({ path }) => !['operator/cli', 'cli.ts'].includes(moduleOf(path)))
    .flatMap(({ path, tokens }) =>
      linesWith(tokens, 'console.log').map((line) => `${path}:${line} uses console.log: use core/log/`),
    );
}

/** Redis scripts are in `.lua` files, not embedded in another language. */
export function scriptBreaches(files: readonly SourceFile[]): string[] {
  return inSource(files).flatMap(({ path, tokens }) =>
    tokens
      .filter(({ kind, text }) => (kind === 'string' || kind === 'template') && text.includes('redis.call('))
      .map(({ line }) => `${path}:${line} holds a script for Redis: it belongs into a file scripts/….lua`),
  );
}

/** @param texts all scripts by path: a module of the folder names `<folder>/scripts/<name>.lua`, or a script includes it */
export function scriptFileBreaches(files: readonly SourceFile[], texts: ReadonlyMap<string, string>): string[] {
  const isBehindModule = (tokens: readonly Token[], at: number) =>
    ['meta', '.', 'url', ','].every((text, index) => tokens[at - 4 + index]?.text === text);
  const named = inSource(files).flatMap(({ path, tokens }) =>
    tokens
      .filter(({ kind }, at) => kind === 'string' && isBehindModule(tokens, at))
      .map(({ text }) => posix.normalize(`${posix.dirname(path)}/scripts/${text}.lua`)),
  );
  const included = [...texts].flatMap(([path, text]) =>
    [...text.matchAll(/^-- @include (\S+)$/gm)].map(([, name]) =>
      posix.normalize(`${posix.dirname(path)}/${name}.lua`),
    ),
  );
  const used = new Set([...named, ...included]);
  return [
    ...[...used].filter((path) => !texts.has(path)).map((path) => `there is no ${path}`),
    ...[...texts.keys()].filter((path) => !used.has(path)).map((path) => `${path} is used by nothing`),
    ...[...texts]
      .filter(([, text]) => /\bKEYS\b/.test(text.replaceAll(/^--.*$/gm, '')) && !/^-- KEYS: /m.test(text))
      .map(([path]) => `${path} does not document its keys`),
  ];
}

/** Module state outlives its server, tenant and test. It needs an owner, such as an object opened by `compose`. */
export function stateBreaches(files: readonly SourceFile[]): string[] {
  return inSource(files)
    .filter(({ path }) => !OWN_STATE.includes(path))
    .flatMap(({ path, tokens }) =>
      declarationsAtTheTop(tokens)
        .filter((declaration) => {
          const text = declaration.map((token) => token.text).join(' ');
          return /^let |= new (Weak)?(Map|Set)( <.*>)? \( \)/.test(text) && !/: Readonly(Map|Set) /.test(text);
        })
        .map(([first]) => `${path}:${first?.line} has mutable module state`),
    );
}

/** What opens tenants, works on whole ones, or hands them to features. */
const WITH_WHOLE_TENANTS = ['daemon', 'tenant'];
const HANDING_TENANTS_ON = ['src/operator/control/installation.ts', 'src/operator/control/metrics.ts'];

/** A function takes the values of a tenant that it uses, or a small interface of its topic; daemon/ builds the whole from parts. */
export function wholeTenantBreaches(files: readonly SourceFile[]): string[] {
  return inSource(files).flatMap(({ path, tokens }) => {
    const isWhole = WITH_WHOLE_TENANTS.includes(moduleOf(path)) || HANDING_TENANTS_ON.includes(path);
    return tokens.flatMap(({ text, line }, at) => {
      if (text !== 'OpenTenant') return [];
      const isSlice = tokens[at - 1]?.text === '<' && tokens[at - 2]?.text === 'Pick';
      if (isSlice && moduleOf(path) !== 'daemon')
        return [`${path}:${line} takes a slice of the tenant: declare an interface of what it uses`];
      const isOwn = isWhole || tokens[at - 1]?.text === 'interface';
      return isOwn ? [] : [`${path}:${line} names the whole tenant: declare what it uses`];
    });
  });
}

/** Test files share processes, so the process's memory and resource use include other files' remains. */
export function measuringBreaches(files: readonly SourceFile[]): string[] {
  return files
    .filter(({ path }) => path.endsWith('.test.ts'))
    .flatMap(({ path, tokens }) =>
      ['process.memoryUsage', 'process.resourceUsage', 'process.cpuUsage'].flatMap((code) =>
        linesWith(tokens, code).map((line) => `${path}:${line} measures a process that it shares: start one for it`),
      ),
    );
}

/** Returns top-level `const` and `let` declarations, each up to its semicolon. */
function declarationsAtTheTop(tokens: readonly Token[]): Token[][] {
  const declarations: Token[][] = [];
  let depth = 0;
  let isInside = false;
  for (const token of tokens) {
    const { kind, text } = token;
    if (depth === 0 && kind === 'word' && ['const', 'let'].includes(text)) {
      declarations.push([]);
      isInside = true;
    }
    if (isInside) declarations.at(-1)?.push(token);
    if (depth === 0 && text === ';') isInside = false;
    if ((kind === 'sign' && '({['.includes(text)) || (kind === 'template' && text.endsWith('${'))) depth += 1;
    if ((kind === 'sign' && ')}]'.includes(text)) || (kind === 'template' && text.startsWith('}'))) depth -= 1;
  }
  return declarations;
}

/** An import whose path is computed escapes every other rule. */
export function computedImportBreaches(files: readonly SourceFile[]): string[] {
  return inSource(files).flatMap(({ path, tokens }) =>
    tokens
      .filter((token, index) => {
        const [before, open, argument] = [tokens[index - 1], tokens[index + 1], tokens[index + 2]];
        const isCall = token.kind === 'word' && token.text === 'import' && open?.text === '(' && before?.text !== '.';
        return isCall && argument?.kind !== 'string';
      })
      .map(({ line }) => `${path}:${line} imports a path that is computed`),
  );
}

interface RelativeImport {
  readonly place: string;
  readonly from: string;
  readonly to: string;
}

function relativeImports(files: readonly SourceFile[]): RelativeImport[] {
  return files.flatMap(({ path, imports }) =>
    imports
      .filter(({ specifier }) => /^\.{1,2}(\/|$)/.test(specifier))
      .map(({ specifier, line }) => ({
        place: `${path}:${line}`,
        from: path,
        to: posix.join(posix.dirname(path), specifier),
      })),
  );
}

function inSource(files: readonly SourceFile[]): SourceFile[] {
  return files.filter(({ path }) => path.startsWith('src/'));
}

function mayImport(from: string, to: string): boolean {
  if (from === to) return true;
  if (WITHOUT_NETWORK.includes(from) && to === 'core/http') return false;
  return levelOf(to) !== -1 && levelOf(to) < levelOf(from);
}

function levelOf(module: string): number {
  return LEVELS.findIndex((modules) => modules.includes(module));
}

function topFolder(path: string): string {
  return path.split('/')[0] ?? '';
}

/** "sync" of src/engine/plan.ts, "main.ts" of src/main.ts; "clinic/schema" of src/clinic/schema/fields.ts. */
function moduleOf(path: string): string {
  const [, name = '', folder = ''] = path.split('/');
  return levelOf(`${name}/${folder}`) === -1 ? name : `${name}/${folder}`;
}

function vendorOf(path: string): string | undefined {
  return /^src\/connectors\/([^/]+)\//.exec(path)?.[1];
}
