/**
 * `npm run english`: measures the English of documents, comments and texts.
 * Without arguments it prints a line for each folder and each page for users; with paths it lists the idioms of these files; with
 * `--check` it compares all with tools/english/budget.json, checks how each page begins, and exits with 1 if a limit is exceeded.
 */
import { readFileSync } from 'node:fs';
import { type Budget, budgetFaults, idiomsPer100, type Measure, pronounPercent } from './english/budget.ts';
import { pronounShare, wordsOf } from './english/density.ts';
import { filesBelow, folderOf, proseOf } from './english/files.ts';
import { idiomsIn } from './english/idioms.ts';
import { isUserPage, lineOfShape, openingFault, type PageShape, shapeOfPage, sumOfShapes } from './english/pages.ts';

const LEAST_WORDS_OF_PAGE = 100;

const paths = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
const isCheck = process.argv.includes('--check');
const [folders, files] = [new Map<string, Measure>(), new Map<string, Measure>()];
const measured = filesBelow(paths.length > 0 ? paths : ['.']);
const documents = measured
  .filter((path) => path.endsWith('.md'))
  .map((path) => ({ path, markdown: readFileSync(path, 'utf8') }));

for (const prose of measured.flatMap(proseOf)) {
  const words = wordsOf(prose.text);
  const measure = {
    words: words.length,
    idioms: await idiomsIn(prose),
    pronouns: (pronounShare(words) * words.length) / 100,
  };
  if (measure.words === 0) continue;
  add(folders, folderOf(prose), measure);
  add(files, `${prose.kind} ${prose.path}`, measure);
}

if (isCheck) check();
else if (paths.length > 0) list(files);
else print(folders);
if (!isCheck) printPages();

function add(into: Map<string, Measure>, key: string, { words, idioms, pronouns }: Measure): void {
  const sum = into.get(key) ?? { words: 0, idioms: [], pronouns: 0 };
  into.set(key, { words: sum.words + words, idioms: [...sum.idioms, ...idioms], pronouns: sum.pronouns + pronouns });
}

function list(measures: ReadonlyMap<string, Measure>): void {
  const idioms = [...measures.values()].flatMap((measure) => measure.idioms);
  for (const { path, line, message } of idioms) console.log(`${path}:${line}: ${message}`);
  print(measures);
}

function print(measures: ReadonlyMap<string, Measure>): void {
  for (const [name, measure] of [...measures].sort(([one], [other]) => (one < other ? -1 : 1))) {
    const idioms = `idioms ${String(measure.idioms.length).padStart(5)} = ${idiomsPer100(measure).toFixed(2)} per 100`;
    const pronouns = `pronouns ${pronounPercent(measure).toFixed(1)} %`;
    console.log(`${name.padEnd(40)} words ${String(measure.words).padStart(6)}  ${idioms}  ${pronouns}`);
  }
}

function printPages(): void {
  const shapes = new Map<string, PageShape>(
    documents.filter(({ path }) => isUserPage(path)).map(({ path, markdown }) => [path, shapeOfPage(path, markdown)]),
  );
  for (const [path, shape] of shapes) console.log(lineOfShape(path, shape));
  if (shapes.size > 1) console.log(lineOfShape('all pages for users', sumOfShapes([...shapes.values()])));
}

function check(): void {
  const budget = JSON.parse(readFileSync(new URL('english/budget.json', import.meta.url), 'utf8')) as Budget;
  const pages = new Map(
    [...files]
      .filter(([name, { words }]) => name.startsWith('document ') && words >= LEAST_WORDS_OF_PAGE)
      .map(([name, measure]) => [name.replace('document ', ''), measure]),
  );
  const openings = documents.flatMap(({ path, markdown }) => openingFault(path, markdown) ?? []);
  const faults = [...budgetFaults(folders, pages, budget), ...openings];
  for (const fault of faults) console.error(fault);
  process.exitCode = faults.length === 0 ? 0 : 1;
}
