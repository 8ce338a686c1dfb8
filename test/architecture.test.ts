import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { describe, expect, test } from 'vitest';
import { ambiguousNames } from '../tools/house/measure.ts';
import { readScript } from '../tools/house/source.ts';
import {
  computedImportBreaches,
  connectorBreaches,
  consoleBreaches,
  cycleBreaches,
  daemonFiles,
  domainWordBreaches,
  FEATURES,
  featureBreaches,
  folderBreaches,
  functionLengthBreaches,
  innerBreaches,
  measuringBreaches,
  moduleBreaches,
  packageBreaches,
  parameterBreaches,
  patientBreaches,
  purityBreaches,
  type SourceFile,
  scriptBreaches,
  scriptFileBreaches,
  setupBreaches,
  sourceFile,
  stateBreaches,
  VENDOR_FILES,
  wholeTenantBreaches,
} from './support/architecture.ts';
import { filesBelow, sourceFilesBelow } from './support/project-files.ts';
import { schemaPairs } from './support/schema-pairs.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

describe('the project', () => {
  const files = ['src', 'examples', 'sandbox', 'demo'].flatMap(sourceFilesBelow);

  test('has source files to look at, and their imports are seen', () => {
    expect(files.filter(({ path }) => path.startsWith('src/')).length).toBeGreaterThan(0);
    expect(files.flatMap(({ imports }) => imports).length).toBeGreaterThan(files.length / 2);
  });

  test.each<[string, (files: SourceFile[]) => string[]]>([
    ['modules import from lower modules only', moduleBreaches],
    ['folders within a module import from lower folders only', innerBreaches],
    ['folders outside src/ stay independent', folderBreaches],
    ['vendors do not import each other, are registered and complete', connectorRule],
    ['what sends has no patient', patientBreaches],
    ['features use the stores of the engine by its ports', featureBreaches],
    ['no import closes a circle', cycleBreaches],
    ['the engine knows no word of the domain', domainWordBreaches],
    ['the daemon loads nothing of src/setup/', setupBreaches],
    ['BullMQ and Redis are known where they belong', packageBreaches],
    ['engine/, domain/ and model/ are pure', purityBreaches],
    ['nothing prints past the log', consoleBreaches],
    ['no import is computed', computedImportBreaches],
    ['no module has mutable state', stateBreaches],
    ['each script for Redis is in a separate file', scriptBreaches],
    ['functions take at most four parameters', parameterBreaches],
    ['functions are of readable length', functionLengthBreaches],
    ['functions take what they use of a tenant', wholeTenantBreaches],
  ])('%s', (_, breaches) => {
    expect(breaches(files)).toEqual([]);
  });

  test('the files of the daemon are found: its process, its work, and what it loads later', () => {
    const loaded = daemonFiles(files);
    const wanted = [
      'src/operator/cli/program.ts',
      'src/main.ts',
      'src/jobs/queues.ts',
      'src/connectors/caldav/connector.ts',
    ];
    expect(wanted.filter((path) => !loaded.has(path))).toEqual([]);
  });

  test('each feature is a separate module, with a README', () => {
    const features = filesBelow('src/features').flatMap((path) => /^src\/features\/([^/]+)\//.exec(path)?.[1] ?? []);
    expect([...new Set(features)].map((name) => `features/${name}`)).toEqual(FEATURES);
    for (const feature of FEATURES) expect(existsSync(`${root}src/${feature}/README.md`)).toBe(true);
  });

  test('each script for Redis is used, and documents its keys', () => {
    const scripts = filesBelow('src').filter((path) => path.endsWith('.lua'));
    expect(scripts.length).toBeGreaterThan(0);
    expect(
      scriptFileBreaches(files, new Map(scripts.map((path) => [path, readFileSync(root + path, 'utf8')]))),
    ).toEqual([]);
  });

  test('a type with the keys of a schema is inferred from the schema', () => {
    const paths = files.map(({ path }) => path).filter((path) => path.startsWith('src/'));
    const pairs = schemaPairs(new Map(paths.map((path) => [path, readFileSync(root + path, 'utf8')])));
    const found = pairs.map(({ name, type, schemas }) => ({ name: `${type.replace(/:\d+$/, '')} ${name}`, schemas }));
    expect(found.filter(({ name }) => NO_PAIRS[name] === undefined)).toEqual([]);
    expect(found.map(({ name }) => name).sort()).toEqual(Object.keys(NO_PAIRS).sort());
  });

  test('no name contains an ambiguous word: the glossary gives the replacement', () => {
    const scripts = filesBelow('src').filter((path) => path.endsWith('.lua'));
    const sources = [
      ...files.filter(({ path }) => path.startsWith('src/')),
      ...scripts.map((path) => ({ path, read: readScript(path, readFileSync(root + path, 'utf8')) })),
    ];
    const found = sources.flatMap(({ path, read }) => ambiguousNames(read).map((name) => `${path}: ${name}`));
    expect(found).toEqual([]);
  });
});

/** Types whose keys equal those of a schema by accident: the schema describes other data. */
const NO_PAIRS: Readonly<Record<string, string>> = {
  'src/clinic/write/writing.ts FieldValue': 'a value for a message, not an option of a CRM',
  'src/connectors/fitting.ts ListOption': 'an option after defaults; vendors omit labels',
  'src/connectors/fitting.ts PropertyRule': 'the limits of any CRM; a description is one of their sources',
  'src/operator/control/activity.ts AuditLogFilter':
    'the common result of two inputs: text of a command, numbers of the API',
  'src/operator/control/logins.ts TenantConnection': 'a configured connection, not the input of an operation',
  'src/features/reminders/texts/texts.ts TextTemplate': 'a default text; settings can omit the subject',
  'src/operator/http-server/pages/configuration.ts DiffLine': 'a line of a text, not a value of a field',
  'src/domain/stream-memory.ts ListSize': 'the size of a list, not the replies of patients',
  'src/core/model/credentials.ts Account': 'the real account, not the required one',
  'src/core/model/items.ts Refusal': 'of any CRM; a description has defaults',
  'src/core/model/time.ts TimeSpan': 'any span of time, not the answer about a change',
  'src/core/model/triggers.ts TriggerReading': 'the opened state; in Redis, the reason is encrypted',
  'src/setup/profile-finder/lists.ts WindowFound': 'parameters of a request, not the quiet hours',
  'src/settings/configuration.ts RefusedChange': 'faults of a refused file, not their number',
  'src/state/sealing.ts SealingKey': 'the bytes of a key, not their location in the settings',
  'src/domain/absence.ts Confirmations': 'results by stream, not a description of a CRM',
  'src/engine/guard.ts DeletionLimit': 'numbers of the pure guard; answers and settings repeat share and count',
};

function connectorRule(files: SourceFile[]): string[] {
  return connectorBreaches(files, filesBelow('src/connectors'));
}

/** Little projects that break one rule each. */
describe('a breach is reported', () => {
  const project = (sources: Record<string, string>) =>
    Object.entries(sources).map(([path, source]) => sourceFile(path, source));

  test.each([
    ['a higher module', 'src/domain/a.ts', '../jobs/b.ts'],
    ['a module on the same line', 'src/clinic/a.ts', '../state/b.ts'],
    ['the network from domain/', 'src/domain/a.ts', '../core/http/b.ts'],
    ['a file above all modules', 'src/operator/http-server/a.ts', '../../main.ts'],
    ['the command line from the daemon', 'src/main.ts', './cli.ts'],
    ['the setup from the command line', 'src/operator/cli/a.ts', '../../setup/init/b.ts'],
    ['the setup from the composition', 'src/daemon/a.ts', '../setup/probe/b.ts'],
    ['a folder that is no module', 'src/domain/a.ts', '../helpers/b.ts'],
    ['the module around it from a folder that is a module', 'src/clinic/schema/a.ts', '../read/b.ts'],
    ['settings from a module that they use', 'src/clinic/schema/a.ts', '../../settings/b.ts'],
  ])('importing %s', (_, path, specifier) => {
    const [breach, ...others] = moduleBreaches(project({ [path]: `// one\nimport type { B } from '${specifier}';` }));
    expect(breach).toContain(`${path}:2 imports src/`);
    expect(others).toEqual([]);
  });

  test.each([
    ['src/domain/a.ts', '../core/model/b.ts'],
    ['src/features/undo/a.ts', '../../operator/control/b.ts'],
    ['src/domain/a.ts', './b.ts'],
    ['src/clinic/a.ts', '../core/http/b.ts'],
    ['src/jobs/a.ts', '../state/deep/b.ts'],
    ['src/cli.ts', './main.ts'],
    ['src/settings/a.ts', '../clinic/schema/b.ts'],
    ['src/clinic/read/a.ts', '../schema/b.ts'],
  ])('not when %s imports %s', (path, specifier) => {
    expect(moduleBreaches(project({ [path]: `import '${specifier}';` }))).toEqual([]);
  });

  test.each([
    ['src/clinic/read/a.ts', '../write/b.ts', true],
    ['src/clinic/http/a.ts', '../api.ts', true],
    ['src/clinic/write/a.ts', '../read/b.ts', false],
    ['src/clinic/api.ts', './write/b.ts', false],
    ['src/clinic/read/a.ts', './b.ts', false],
    ['src/jobs/a.ts', '../clinic/write/b.ts', false],
    ['src/setup/profile-finder/a.ts', '../probe/b.ts', true],
    ['src/setup/check-spec/a.ts', '../init/b.ts', true],
    ['src/setup/init/a.ts', '../check-spec/b.ts', false],
  ])('within a module: %s importing %s, %s', (path, specifier, isBreach) => {
    expect(innerBreaches(project({ [path]: `import '${specifier}';` }))).toHaveLength(isBreach ? 1 : 0);
  });

  test('of a folder in src/ that is no module, once for each file', () => {
    const files = project({ 'src/utils/a.ts': "import '../jobs/b.ts'; import '../core/log/b.ts';" });
    expect(moduleBreaches(files)).toEqual(['src/utils/a.ts: "utils" is not a module of src/']);
  });

  test.each([
    ['src/domain/a.ts', '../../sandbox/b.ts'],
    ['src/main.ts', '../tools/b.ts'],
    ['src/connectors/registry.ts', '../../examples/b.ts'],
    ['examples/a/index.ts', '../../sandbox/b.ts'],
    ['sandbox/clinic/a.ts', '../../src/core/model/b.ts'],
    ['sandbox/clinic/a.ts', '../../test/support/b.ts'],
    ['demo/main.ts', '../test/support/b.ts'],
  ])('%s importing %s', (path, specifier) => {
    expect(folderBreaches(project({ [path]: `export * from '${specifier}';` }))).toHaveLength(1);
  });

  test('one vendor importing another', () => {
    const files = project({ 'src/connectors/one/a.ts': "import '../two/index.ts';" });
    const paths = ['one', 'two'].flatMap((vendor) => VENDOR_FILES.map((name) => `src/connectors/${vendor}/${name}`));
    const breaches = connectorBreaches(files, paths);
    expect(breaches[0]).toContain('src/connectors/one/a.ts:1 imports src/connectors/two/index.ts');
    expect(breaches.slice(1)).toEqual([
      'src/connectors/one is not in registry.ts',
      'src/connectors/two is not in registry.ts',
    ]);
  });

  test('a vendor that lacks a file', () => {
    const files = project({ 'src/connectors/registry.ts': "import { one } from './one/index.ts';" });
    const paths = VENDOR_FILES.filter((name) => name !== 'errors.ts').map((name) => `src/connectors/one/${name}`);
    expect(connectorBreaches(files, paths)).toEqual(['src/connectors/one/errors.ts is missing']);
  });

  test('a feature that uses a store of the engine without its port, and not the store of another module', () => {
    const files = project({
      'src/features/undo/a.ts': "import type { LinkStore } from '../../state/links.ts';",
      'src/features/undo/b.ts': "import type { Journal } from '../../state/journal.ts';",
      'src/operator/control/a.ts': "import type { LinkStore } from '../../state/links.ts';",
    });
    expect(featureBreaches(files)).toEqual([
      "src/features/undo/a.ts:1 imports src/state/links.ts: a feature uses the engine's ports (engine/store.ts)",
    ]);
  });

  test('a vendor or a channel that is given patients', () => {
    const files = project({
      'src/connectors/one/a.ts': "import type { Patient } from '../../core/model/records.ts';",
      'src/features/reminders/channels/sms/a.ts':
        "import { FactSearch } from '../../../../core/model/patient-facts.ts';",
      'src/features/reminders/content.ts': "import type { Patient } from '../../core/model/records.ts';",
    });
    expect(patientBreaches(files)).toEqual([
      'src/connectors/one/a.ts:1 imports src/core/model/records.ts: this module must not receive patients',
      'src/features/reminders/channels/sms/a.ts:1 imports src/core/model/patient-facts.ts: this module must not receive patients',
    ]);
  });

  test('a type with the keys of a schema, in any order, inherited or spread', () => {
    const pairs = schemaPairs(
      new Map([
        [
          'src/core/model/base.ts',
          'export const base = { id: z.string() };\nexport interface Base {\n  id: string;\n}\n',
        ],
        [
          'src/core/model/schemas.ts',
          'const line = z.object({ ...base, at: z.number() });\nconst other = z.object({ id, to });\n',
        ],
        ['src/core/model/line.ts', 'export interface Line extends Base {\n  at: number;\n}\n'],
        ['src/core/model/alias.ts', 'type Alias = { at: number; id: string };\n'],
        [
          'src/core/model/none.ts',
          'interface Longer { at: number; id: string; to: string }\ninterface Acting { at: number; id(): string }\n',
        ],
        ['src/core/model/inferred.ts', 'type Inferred = z.infer<typeof line>;\n'],
      ]),
    );
    const schemas = ['src/core/model/schemas.ts:1'];
    expect(pairs).toEqual([
      { name: 'Line', type: 'src/core/model/line.ts:1', schemas },
      { name: 'Alias', type: 'src/core/model/alias.ts:1', schemas },
    ]);
  });

  test('a word of the domain in the engine, also within names, at its place', () => {
    const files = project({
      'src/engine/a.ts': 'const one = 1;\nconst agendaCount = 2;\n/** Each Patient. */\nconst events = 3;',
      'src/engine/b.ts': "const text = 'clinic-mirror';\nconst crm = 1;\nconst isForCrm = 2;\nconst prevented = 3;",
      'src/domain/a.ts': 'const agenda = 1;',
    });
    expect(domainWordBreaches(files)).toEqual([
      'src/engine/a.ts:2 says "agenda"',
      'src/engine/a.ts:3 says "Patient"',
      'src/engine/a.ts:4 says "events"',
      'src/engine/b.ts:2 says "crm"',
      'src/engine/b.ts:3 says "Crm"',
    ]);
  });

  test('a circle of imports, with its way, and a file that imports itself', () => {
    const files = project({
      'src/domain/a.ts': "import './b.ts';",
      'src/domain/b.ts': "import { x } from './c.ts'; import '../core/model/m.ts';",
      'src/domain/c.ts': "export * from './a.ts';",
      'src/core/model/m.ts': "import './m.ts';",
    });
    expect(cycleBreaches(files)).toEqual([
      'import cycle: src/domain/a.ts → src/domain/b.ts → src/domain/c.ts → src/domain/a.ts',
      'import cycle: src/core/model/m.ts → src/core/model/m.ts',
    ]);
  });

  test.each([
    ['by its work', 'src/main.ts', "import { b } from './daemon/b.ts';", "import '../setup/a.ts';"],
    ['by its work, later', 'src/main.ts', "await import('./daemon/b.ts');", "await import('../setup/a.ts');"],
    ['by its process', 'src/cli.ts', "export { b } from './daemon/b.ts';", "export * from '../setup/a.ts';"],
  ])('the setup loaded %s', (_, path, source, loading) => {
    const files = project({ [path]: source, 'src/daemon/b.ts': loading, 'src/setup/a.ts': '' });
    expect(setupBreaches(files)).toEqual(['src/daemon/b.ts:1 imports src/setup/a.ts: the daemon would load it']);
  });

  test('not the setup that a command loads when it runs, or of which only types are used', () => {
    const source = "import type { A } from '../../setup/a.ts';\nconst a = () => import('../../setup/a.ts');";
    const files = project({
      'src/cli.ts': "import './operator/cli/b.ts';",
      'src/operator/cli/b.ts': source,
      'src/setup/a.ts': '',
    });
    expect(setupBreaches(files)).toEqual([]);
  });

  test('a function with five parameters, and none with four', () => {
    const files = project({ 'src/domain/a.ts': 'function f(a, b, c, d, e) {}\nconst g = (a, b, c, d) => a;' });
    expect(parameterBreaches(files)).toEqual(['src/domain/a.ts:1 f takes 5 parameters']);
  });

  test('two ways to one file are no circle', () => {
    const files = project({
      'src/core/log/a.ts': "import './b.ts'; import './c.ts';",
      'src/core/log/b.ts': "import './c.ts';",
    });
    expect(cycleBreaches(files)).toEqual([]);
  });

  test('a package outside its modules', () => {
    const files = project({
      'src/operator/control/a.ts': "import { Queue } from 'bullmq';",
      'src/clinic/a.ts': "import type { Redis } from 'ioredis'; import 'ioredis/built/x.js';",
      'src/jobs/a.ts': "import 'bullmq'; import 'ioredis';",
      'src/state/a.ts': "import 'ioredis';",
      'src/core/log/a.ts': "import 'ioredis-like';",
    });
    expect(packageBreaches(files)).toEqual([
      'src/operator/control/a.ts:1 imports bullmq: only jobs may',
      'src/clinic/a.ts:1 imports ioredis: only state and jobs may',
      'src/clinic/a.ts:1 imports ioredis/built/x.js: only state and jobs may',
    ]);
  });

  test('a clock, chance, the network or a file in a pure module', () => {
    const impure = "import 'node:fs/promises';\nimport 'https';\nconst a = [Date.now(), Math.random(), new Date()];";
    const files = project({
      'src/domain/a.ts': impure,
      'src/state/a.ts': impure,
      'src/core/model/a.ts': "import 'node:crypto'",
    });
    expect(purityBreaches(files)).toEqual([
      'src/domain/a.ts:1 imports node:fs/promises: domain/ is pure',
      'src/domain/a.ts:2 imports https: domain/ is pure',
      'src/domain/a.ts:3 uses Date.now: domain/ takes it as an argument',
      'src/domain/a.ts:3 uses new Date(): domain/ takes it as an argument',
      'src/domain/a.ts:3 uses Math.random: domain/ takes it as an argument',
    ]);
  });

  test('a function of 71 lines, not of 70, whatever stands around it', () => {
    const body = (lines: number) => `{${'\n'.repeat(lines - 1)}}`;
    const source = [
      `export async function long(given: { a: number }): Promise<{ b: number }> ${body(71)}`,
      `const held = (a: number): void => ${body(71)};`,
      `const object = { method(a = ')'): string ${body(71)}, get: async () => ${body(70)} };`,
      `if (true) ${body(90)} for (const a of b) ${body(90)} const text = \`\${(() => ${body(71)})()} { \`;`,
      `class A { #a = 1; go<T>(b: T) ${body(71)} } interface B ${body(80)}`,
    ].join('\n');
    const names = functionLengthBreaches(project({ 'src/core/log/a.ts': source })).map(
      (breach) => breach.split(' ')[1],
    );
    expect(names).toEqual(['long', 'held', 'method', 'anonymous', 'go']);
  });

  test('a long test and a long helper of tests, not a list of tests', () => {
    const lines = '\n'.repeat(71);
    const source = [
      `describe('a', () => {${lines} test('b', () => {${lines}}); });`,
      `function helper() {${lines} /x/.test(y); }`,
      `export function describeAll() {${lines} test.each([1])('c', () => {}); }`,
    ].join('\n');
    const namesIn = (path: string) =>
      functionLengthBreaches(project({ [path]: source })).map((breach) => breach.split(' ')[1]);
    expect(namesIn('test/a.test.ts')).toEqual(['anonymous', 'helper']);
    expect(namesIn('tools/a.ts')).toEqual(['anonymous', 'anonymous', 'helper', 'describeAll']);
  });

  test('console.log outside the command line', () => {
    const source = "console.log('x'); // console.log";
    const files = project({
      'src/jobs/a.ts': source,
      'src/operator/cli/a.ts': source,
      'src/cli.ts': source,
      'demo/a.ts': source,
    });
    expect(consoleBreaches(files)).toEqual(['src/jobs/a.ts:1 uses console.log: use core/log/']);
  });

  test('a test that measures the process it shares, not a process that it started', () => {
    const source = 'const before = process.memoryUsage().rss;';
    expect(measuringBreaches(project({ 'test/a.test.ts': source, 'test/a-carrier.ts': source }))).toEqual([
      'test/a.test.ts:1 measures a process that it shares: start one for it',
    ]);
  });

  test('a script for Redis between other code', () => {
    const source = "// redis.call('GET')\nredis.call(key);\nconst GET = `\nreturn redis.call('GET', KEYS[1])`;";
    expect(scriptBreaches(project({ 'src/state/links.ts': source }))).toEqual([
      'src/state/links.ts:3 holds a script for Redis: it belongs into a file scripts/….lua',
    ]);
  });

  test('a script for Redis that is missing, unused or without a description of its keys', () => {
    const source =
      "const a = redisScript<'x'>(import.meta.url, 'a');\nconst b = fencedScript(import.meta.url, 'gone');";
    const scripts = new Map([
      ['src/state/scripts/a.lua', '-- @include b\nreturn KEYS[1]'],
      ['src/state/scripts/b.lua', '-- KEYS: 1 lease.\nreturn KEYS[1]'],
      ['src/state/scripts/c.lua', 'return 1'],
    ]);
    expect(scriptFileBreaches(project({ 'src/state/links.ts': source }), scripts)).toEqual([
      'there is no src/state/scripts/gone.lua',
      'src/state/scripts/c.lua is used by nothing',
      'src/state/scripts/a.lua does not document its keys',
    ]);
  });

  test('an import whose path is computed', () => {
    const files = project({ 'src/core/log/a.ts': "import('./b.ts');\nimport(name);\nimport(`./b.ts`);" });
    expect(computedImportBreaches(files)).toEqual([
      'src/core/log/a.ts:2 imports a path that is computed',
      'src/core/log/a.ts:3 imports a path that is computed',
    ]);
  });

  test('the whole tenant outside what opens it, and a slice of it outside composition/', () => {
    const source = [
      'function a(tenant: OpenTenant, b: number) {}',
      "function b(tenant: Pick<OpenTenant, 'id'>) {}",
      "declare module '../tenant/tenant.ts' { interface OpenTenant { c: C } }",
    ].join('\n');
    const files = project({ 'src/domain/a.ts': source, 'src/daemon/a.ts': source });
    const slice = 'takes a slice of the tenant: declare an interface of what it uses';
    expect(wholeTenantBreaches(files)).toEqual([
      'src/domain/a.ts:1 names the whole tenant: declare what it uses',
      `src/domain/a.ts:2 ${slice}`,
    ]);
  });

  test('a module with mutable state', () => {
    const files = project({
      'src/jobs/a.ts': 'const a = new Map<string, Map<string, number>>();\nexport let b = 1;\nconst c = new WeakMap();',
      'src/jobs/b.ts':
        'const a = new Map([[1, 2]]);\nfunction b() { let c = new Map(); return c; }\nconst d: ReadonlySet<string> = new Set();',
    });
    expect(stateBreaches(files)).toEqual([
      'src/jobs/a.ts:1 has mutable module state',
      'src/jobs/a.ts:2 has mutable module state',
      'src/jobs/a.ts:3 has mutable module state',
    ]);
  });
});
