// npm run house [-- --walk | --json]: the size and shape of `src/` and `test/`, row by row of the goals in CONTRIBUTING.md.
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { renderTable } from '../src/operator/cli/table.ts';
import { closureOf, type HouseRow, measureHouse, moduleRows } from './house/measure.ts';
import { readScript, readSource } from './house/source.ts';

const root = fileURLToPath(new URL('..', import.meta.url));
const sourcesBelow = (folder: string) =>
  globSync(`${folder}/**/*.ts`, { cwd: root })
    .sort()
    .map((path) => readSource(path, readFileSync(join(root, path), 'utf8')));

/** The page that shows a hold. */
const HOLD_PAGE = 'src/operator/http-server/pages/holds/hold-page.ts';

async function main(): Promise<void> {
  const { values } = parseArgs({
    options: { walk: { type: 'boolean', default: false }, json: { type: 'boolean', default: false } },
  });
  const source = sourcesBelow('src');
  const test = sourcesBelow('test');
  const scripts = globSync('src/**/*.lua', { cwd: root }).map((path) =>
    readScript(path, readFileSync(join(root, path), 'utf8')),
  );
  const rows: HouseRow[] = measureHouse({ source, test, scripts, holdPage: closureOf(HOLD_PAGE, source) });
  if (values.walk) {
    const { walkAppointment } = await import('../bench/walk.ts');
    rows.push(...(await walkAppointment((text) => console.error(text))));
  }
  const modules = moduleRows([...source, ...scripts]);
  if (values.json) {
    console.log(JSON.stringify({ rows, modules }));
    return;
  }
  const table = (headings: string[], cells: (string | number)[][]) =>
    console.log(
      renderTable(
        headings,
        cells.map((row) => row.map(String)),
      ),
    );
  table(
    ['module', 'files', 'lines', 'code'],
    modules.map(({ module, files, lines, code }) => [module, files, lines, code]),
  );
  console.log();
  table(
    ['goal', 'what', 'now', 'wanted'],
    rows.map(({ goal, what, now, wanted }) => [goal, what, now, wanted]),
  );
}

await main();
