// Tier: quick, at each change. Reads documents and settings of the project.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { clinicProfileSchema } from '../src/clinic/schema/profile.ts';
import { connectors } from '../src/connectors/registry.ts';
import { addFeatureMetrics } from '../src/features/metrics.ts';
import { commandsOf, createProgram } from '../src/operator/cli/program.ts';
import { vendorCodesOf } from '../src/operator/codes/vendor-codes.ts';
import { allCodes } from '../src/operator/codes/why.ts';
import { createMetrics } from '../src/operator/control/metrics.ts';
import { unusedOutside } from '../tools/unused-outside.ts';
import { commandsDocument } from '../tools/write-commands.ts';
import { catalogues, referenceDocuments } from '../tools/write-reference.ts';
import { commandFault, commandsIn } from './support/documented-commands.ts';
import { errorCodesIn } from './support/error-codes.ts';
import { addressFault, anchorsIn, linksIn } from './support/markdown-links.ts';
import { testsIn } from './support/tests-in.ts';

const root = join(import.meta.dirname, '..');
const read = (path: string) => readFileSync(join(root, path), 'utf8');
/** Folders with documents of the project, in addition to its root. */
const FOLDERS_WITH_DOCUMENTS = ['.github', 'bench', 'decisions', 'docs', 'examples', 'sandbox', 'src'];
const NOT_OURS = ['.cache', '.git', 'coverage', 'node_modules'];

/** Returns the backtick-quoted values in the first column of a document's tables. */
function firstColumn(text: string): string[] {
  return [...text.matchAll(/^\| `([^`]+)` \|/gm)].map((match) => match[1] ?? '');
}

function filesBelow(folder: string, ending: string): string[] {
  const entries = readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' });
  return entries.filter((name) => name.endsWith(ending)).map((name) => join(folder, name));
}

describe('docs/errors.md', () => {
  const sources = filesBelow('src', '.ts').filter((path) => !/^src\/connectors\/(.+\/)?errors\.ts$/.test(path));
  const codes = errorCodesIn(sources.map(read));
  const vendorCodes = vendorCodesOf(catalogues).map(({ code }) => code);
  const text = read('docs/errors.md');
  const listed = allCodes().map(({ code }) => code);
  const generated = firstColumn(/<!-- reference: errors -->[\s\S]*?<!-- end -->/.exec(text)?.[0] ?? '');
  const samples = firstColumn(/<!-- reference: error-samples -->[\s\S]*?<!-- end -->/.exec(text)?.[0] ?? '');

  test('lists every code of the program', () => {
    expect(codes.length).toBeGreaterThan(80);
    expect(codes.filter((code) => !listed.includes(code))).toEqual([]);
    expect(vendorCodes.length).toBeGreaterThan(80);
    expect(generated).toEqual(vendorCodes);
  });

  test('shows a sample message for every code that has one, and for no other', () => {
    expect(samples.filter((code) => !listed.includes(code))).toEqual([]);
    expect(samples.length).toBeGreaterThan(listed.length * 0.8);
  });

  test('lists no code that the program does not have', () => {
    // The name of the catalogue stands before the word in the source.
    const composed = ['agenda-unconfirmed', 'treatment-unconfirmed'];
    expect(listed.filter((code) => !codes.includes(code) && !composed.includes(code))).toEqual([]);
  });
});

describe('error codes are found in sources', () => {
  test.each([
    ["new MirrorError('x y', { actor: 'remote', code: 'timed-out' })", ['timed-out']],
    ["fail({ code: isOne ? 'one-thing' : 'other-thing', retry: 'never' })", ['one-thing', 'other-thing']],
    ["function oops(code: string, text: string) {}\noops('it-broke', 'it broke');", ['it-broke']],
    ["function oops(text: string, code: string) {}\noops(\n  'the end, my friend',\n  'it-ended',\n);", ['it-ended']],
    ["const report = (code: string) => {};\nreport('it-broke');", ['it-broke']],
    ["context.addIssue({ code: 'custom' })", []],
  ])('%s', (source, codes) => {
    expect(errorCodesIn([source])).toEqual(codes);
  });
});

test('docs/monitoring.md has a line for every metric, and for no other', async () => {
  const all = createMetrics(() => null);
  addFeatureMetrics(all);
  const text = await all.render();
  const metrics = [...text.matchAll(/^# TYPE (clinic_mirror_\w+)/gm)].map((match) => match[1] ?? '');
  expect(metrics.length).toBeGreaterThan(10);
  const listed = firstColumn(read('docs/monitoring.md')).filter((name) => name.startsWith('clinic_mirror_'));
  expect(listed.sort()).toEqual(metrics.sort());
});

describe('docs/commands.md', () => {
  const text = read('docs/commands.md');
  const commands = commandsOf(createProgram(unusedOutside()));

  test('has a section for every command, and for no other', () => {
    const sections = [...text.matchAll(/^## `(.+)`$/gm)].map(([, usage = '']) => `clinic-mirror ${usage}`);
    expect(commands.length).toBeGreaterThan(10);
    expect(sections.sort()).toEqual(commands.map(usageOf).sort());
  });

  test('names in the section of each command its options', () => {
    const sections = text.split(/^## /m);
    const options = commands.flatMap(({ words, command }) => {
      const section = sections.find((one) =>
        one.startsWith(`\`${usageOf({ words, command }).replace(/^clinic-mirror /, '')}\``),
      );
      return command.options.map(({ long }) => ({ words, long: long ?? '', section: section ?? '' }));
    });
    expect(options.length).toBeGreaterThan(3);
    const missing = options.filter(({ long, section }) => !section.includes(long));
    expect(missing.map(({ words, long }) => `${words} ${long}`)).toEqual([]);
  });
});

function usageOf({ words, command }: { words: string; command: Command }): string {
  const given = command.registeredArguments.map((one) => {
    const name = one.variadic ? `${one.name()}...` : one.name();
    return one.required ? `<${name}>` : `[${name}]`;
  });
  return [words, ...given].join(' ');
}

test.each([...referenceDocuments(), commandsDocument()])(
  'the tables of %s are current (else: npm run generate)',
  (file, text) => {
    expect(readFileSync(file, 'utf8')).toBe(text);
  },
);

test.each([...connectors.keys()])('docs/configuration.md has a section for the connector %s', (name) => {
  // Compares only lines: a failure that prints the complete document is unreadable.
  const lines = read('docs/configuration.md').split('\n');
  const needed = [`### \`${name}\``, `<!-- reference: ${name} -->`];
  expect(
    needed.filter((line) => !lines.includes(line)),
    'lines that are missing',
  ).toEqual([]);
});

test('docs/clinic-profile.md shows a profile that the schema accepts', () => {
  const [, example = ''] = /```yaml\n([\s\S]*?)```/.exec(read('docs/clinic-profile.md')) ?? [];
  expect(example).not.toBe('');
  expect(clinicProfileSchema.safeParse(parse(example)).error).toBeUndefined();
});

test.each(['settings', 'tenant'])('docs/configuration.md has one heading for each setting of %s', (name) => {
  const block =
    new RegExp(`<!-- reference: ${name} -->[\\s\\S]*?<!-- end -->`).exec(read('docs/configuration.md'))?.[0] ?? '';
  const headings = [...block.matchAll(/^#{3,4} `(.+)`$/gm)].map((match) => match[1]);
  expect(headings.length).toBeGreaterThan(100);
  expect(headings.filter((heading, index) => headings.indexOf(heading) !== index)).toEqual([]);
});

describe.each([
  ['docs/safety.md', 50],
  ['SECURITY.md', 80],
])('%s', (page, least) => {
  const named = [...rowsOf(page).flatMap(namedBy), ...namedInBrackets(read(page))];
  const names = named.filter((name) => !name.startsWith('npm run '));

  test('names existing tests', () => {
    expect(names.length).toBeGreaterThan(least);
    expect(names.filter((name) => sourcesOfTest(name).length === 0)).toEqual([]);
  });

  test('names files that contain a test', () => {
    expect(
      names.filter((name) =>
        sourcesOfTest(name)
          .map(read)
          .every((text) => testsIn(text) === 0),
      ),
    ).toEqual([]);
  });
});

test('SECURITY.md names evidence in each row', () => {
  const rows = rowsOf('SECURITY.md').filter((row) => !/^\|(?:-+\|)+$/.test(row) && !row.endsWith('| test |'));
  expect(rows.length).toBeGreaterThan(10);
  expect(rows.filter((row) => namedBy(row).length === 0)).toEqual([]);
});

test('docs/safety.md names evidence in each paragraph of a guarantee', () => {
  const [, ...sections] = read('docs/safety.md').split(/^## /m);
  const guarantees = sections.filter((text) => !text.startsWith('Known limits\n'));
  const paragraphs = guarantees.flatMap((text) => text.trim().split('\n\n').slice(1));
  expect(paragraphs.length).toBeGreaterThan(20);
  expect(paragraphs.filter((text) => namedInBrackets(text).length === 0)).toEqual([]);
});

/** Returns the rows of a page's tables with evidence. */
function rowsOf(page: string): string[] {
  return read(page)
    .split('\n')
    .filter((line) => line.startsWith('|') && line.split('|').length > 5);
}

/** Returns the tests that the last cell of a row names. */
function namedBy(row: string): string[] {
  return [...(row.split('|').at(-2) ?? '').matchAll(/`([^`]+)`/g)].map(([, name = '']) => name);
}

test('SECURITY.md names each test of an attack', () => {
  const names = [...read('SECURITY.md').matchAll(/`(attacks\/[a-z-]+)`/g)].map(([, name = '']) => name);
  const attacks = filesBelow('test/attacks', '.test.ts').map((file) => file.slice('test/'.length, -'.test.ts'.length));
  expect(attacks.length).toBeGreaterThan(20);
  expect(attacks.filter((attack) => !names.some((name) => attack.startsWith(name)))).toEqual([]);
});

/** Returns the tests that prose names, in brackets behind a sentence. */
function namedInBrackets(text: string): string[] {
  const brackets = [...text.matchAll(/\((`(?:contract|[a-z0-9-]+\/[a-z0-9/-]+)`(?:,\s`[a-z0-9/-]+`)*)\)/g)];
  return brackets.flatMap(([, all = '']) => [...all.matchAll(/`([^`]+)`/g)].map(([, name = '']) => name));
}

/** Returns the file of a test by its name below `test/`, or the files in the folder of that name. */
function sourcesOfTest(name: string): string[] {
  const file = `test/${name}.test.ts`;
  if (existsSync(join(root, file))) return [file];
  return existsSync(join(root, 'test', name)) ? filesBelow(`test/${name}`, '.ts') : [];
}

describe('tests are counted in sources', () => {
  test.each([
    ["test('a', () => {});\ndescribe('b', () => {\n  test.each([\n    1,\n  ])('c', () => {});\n});", 2],
    ["test.skipIf(!isThere)('if the program exists', () => {});", 1],
    ['test.each`\n  a\n  b\n`("a", () => {});', 1],
    ["test.each<number>([1])('a', () => {});", 1],
    ["describe('nothing', () => {});\nconst latest = (test: string) => test;", 0],
    ["// test('a', () => {});\n/*\ntest('b', () => {});\n*/", 0],
    ["test.todo('later');\ntest.skip('a', () => {\n  expect(1).toBe(2);\n});", 0],
    ["describe.skip('all', () => {\n  test('a', () => {});\n});", 0],
    ["test.skip('a', () => {});\ntest('b', () => {});", 1],
    ['', 0],
  ])('%j', (source, count) => {
    expect(testsIn(source)).toBe(count);
  });
});

describe('documents', () => {
  const documents = ['.', ...FOLDERS_WITH_DOCUMENTS].flatMap((folder) =>
    folder === '.' ? readdirSync(root).filter((name) => name.endsWith('.md')) : filesBelow(folder, '.md'),
  );

  test.each(documents)('%s links to existing targets', (path) => {
    expect(linkFaults(path, read(path))).toEqual([]);
  });

  test('quote only messages that the program logs', () => {
    const quotes = /\blog(?:\s+then)?\s+(?:says|contains)\s+`([^`]+)`|`([^`]+)`\s+in\s+the\s+log\b/gi;
    const sources = filesBelow('src', '.ts').map(read).join('\n');
    const quoted = documents.flatMap((path) =>
      [...read(path).matchAll(quotes)].map(([, one, other]) => (one ?? other ?? '').replaceAll(/\s+/g, ' ')),
    );
    expect(quoted.length).toBeGreaterThan(3);
    expect(quoted.filter((text) => !sources.includes(`'${text}'`))).toEqual([]);
  });

  test('name only files of the project that exist', () => {
    const files = /`((?:bench|demo|deploy|docs|sandbox|src|test|tools)\/[\w./-]+(?:\.\w+|\/))`/g;
    const named = documents
      .filter((path) => !path.startsWith('decisions/'))
      .flatMap((path) => [...read(path).matchAll(files)].map(([, file = '']) => ({ path, file })));
    expect(named.length).toBeGreaterThan(100);
    expect(named.filter(({ file }) => !existsSync(join(root, file)))).toEqual([]);
  });

  test('name commands that the program takes', async () => {
    const found = documents.flatMap((path) => commandsIn(read(path)).map((command) => ({ path, command })));
    expect(found.length).toBeGreaterThan(100);
    const faults = await Promise.all(
      found.map(async ({ path, command }) => {
        const fault = await commandFault(command);
        return fault === null ? [] : [`${path}:${command.line}: ${command.text}: ${fault}`];
      }),
    );
    expect(faults.flat()).toEqual([]);
  });

  test.each([
    ['```\nclinic-mirror plam aurora\n```', /unknown command 'plam'|too many arguments/],
    ['```\n$ clinic-mirror plan\n```', /missing required argument 'tenant'/],
    ['see `clinic-mirror status --problem`', /unknown option '--problem'/],
    ['```\nclinic-mirror logout aurora clinic now\n```', /too many arguments/],
    ['`clinic-mirror reminders opt-out <tenant> fax`', /Allowed choices/],
  ])('an unknown command is reported: %s', async (text, says) => {
    const [command] = commandsIn(text);
    expect(await commandFault(command!)).toMatch(says);
  });

  test.each([
    '```\nclinic-mirror credentials backup aurora > aurora.backup  # every night\n```',
    'what `clinic-mirror reminders` shows, and `clinic-mirror login <tenant> [connection]`',
    '`clinic-mirror reminders opt-out <tenant> <kind>`',
  ])('and no other: %s', async (text) => {
    expect(await Promise.all(commandsIn(text).map(commandFault))).toEqual(commandsIn(text).map(() => null));
  });

  test('are all checked', () => {
    const others = readdirSync(root, { withFileTypes: true }).filter(
      (entry) => entry.isDirectory() && !FOLDERS_WITH_DOCUMENTS.includes(entry.name) && !NOT_OURS.includes(entry.name),
    );
    expect(others.filter(({ name }) => filesBelow(name, '.md').length > 0).map(({ name }) => name)).toEqual([]);
  });

  test.each([
    ['[a](docs/nowhere.md)', 'CONTRIBUTING.md:1: docs/nowhere.md is not there'],
    ['\n![a](docs/nowhere.png "title")', 'CONTRIBUTING.md:2: docs/nowhere.png is not there'],
    ['[a](README.md#nowhere)', 'CONTRIBUTING.md:1: README.md#nowhere matches no heading'],
    ['# Here\n[a](#there)', 'CONTRIBUTING.md:2: #there matches no heading'],
    ['[a]: docs/nowhere.md', 'CONTRIBUTING.md:1: docs/nowhere.md is not there'],
    ['[a](http://example.org)', 'CONTRIBUTING.md:1: http://example.org is not https'],
    ['<https://example.org.>', 'CONTRIBUTING.md:1: https://example.org. names no public host'],
  ])('a broken link is reported: %s', (text, fault) => {
    expect(linkFaults('CONTRIBUTING.md', text)).toEqual([fault]);
  });

  test.each([
    '# One `two`: three\n[a](#one-two-three)',
    '## Twice\n## Twice\n[a](#twice-1)',
    '`[a](docs/nowhere.md)`',
    '```\n[a](docs/nowhere.md)\n```',
    '[a](docs/../README.md#two-commands)',
    '[a](https://example.org/a_(b)?c=d#e)',
  ])('and no other: %s', (text) => {
    expect(linkFaults('CONTRIBUTING.md', text)).toEqual([]);
  });
});

/** Returns every broken link of a document; external URLs are checked only by their form. */
function linkFaults(path: string, markdown: string): string[] {
  return linksIn(markdown).flatMap(({ to, line }) => {
    const fault = /^[a-z]+:/i.test(to) ? addressFault(to) : fileFault(path, markdown, to);
    return fault === null ? [] : [`${path}:${line}: ${to} ${fault}`];
  });
}

function fileFault(path: string, markdown: string, to: string): string | null {
  const [file = '', anchor] = to.split('#');
  const target = resolve(root, dirname(path), decodeURI(file));
  if (file !== '' && !existsSync(target)) return 'is not there';
  if (anchor === undefined) return null;
  return anchorsIn(file === '' ? markdown : readFileSync(target, 'utf8')).has(anchor) ? null : 'matches no heading';
}

describe('decisions/', () => {
  test.each(filesBelow('decisions', '.md').filter((path) => !path.endsWith('README.md')))('%s has the form', (path) => {
    expect(path).toMatch(/^decisions\/\d{4}-\d\d-\d\d-[a-z0-9-]+\.md$/);
    const headings = [...read(path).matchAll(/^## (.+)$/gm)].map((match) => match[1]);
    expect(headings).toEqual(['Context', 'Decision', 'Consequences']);
    expect(read(path)).toMatch(/^# .+\n\nStatus: (accepted|superseded by \[.+\]\(.+\))\n/);
    expect(read(path).trim().split(/\s+/).length).toBeLessThanOrEqual(350);
  });
});
