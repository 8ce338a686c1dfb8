/** Writes `docs/clinic-api.md`: every row of the clinic's specification, with its command, function, sandbox route and tests. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { OPERATION_CALLS } from '../src/clinic/api.ts';
import { type ClinicOperation, OPERATIONS } from '../src/clinic/schema/operations.ts';
import { commandOf, operationOf } from '../src/operator/control/clinic-question.ts';
import { SPECIFICATION_ROWS, type SpecificationRow } from './clinic-api-rows.ts';

const root = join(import.meta.dirname, '..');
/** Where the document is. */
export const CLINIC_API_DOCUMENT = join(root, 'docs/clinic-api.md');
const SUITE = 'test/clinic/whole-api';
const ROUTES = 'sandbox/clinic/routes';
/** Most tests that one line of the table names. */
const NAMED_TESTS = 3;

/** An operation with its sandbox file and tests. */
export interface DocumentedOperation {
  operation: ClinicOperation;
  /** Arguments after `clinic <tenant>` on the command line. */
  command: string;
  /** Name of the called function; operations with equal requests share one. */
  calls: string;
  /** File of the sandbox; null when no route has the method and path. */
  route: string | null;
  /** Titles of the suite's tests that call it. */
  tests: string[];
}

/** Every operation with its route and its tests, as the sources say. */
export function documentedOperations(): DocumentedOperation[] {
  const routes = sandboxRoutes();
  const tests = suiteTests();
  return OPERATIONS.map((operation) => {
    const route = routes.get(`${operation.method} ${shapeOfPath(operation.path)}`) ?? null;
    const calls = operationOf(commandOf(operation)).name;
    const calling = tests.filter((each) => each.calls.has(calls)).map(({ title }) => title);
    return { operation, command: commandLineOf(operation), calls, route, tests: [...new Set(calling)] };
  });
}

function commandLineOf(operation: ClinicOperation): string {
  const { resource, verb, ids } = commandOf(operation);
  const call = OPERATION_CALLS[operation.name];
  const write = verb === 'read' || verb === 'pdf' ? [] : ['--write', verb];
  const data = call?.takes == null ? [] : ['--data …'];
  const file = verb === 'pdf' || call?.wantsFile === true ? ['--pdf <file>'] : [];
  return [resource, ...ids.map((id) => `<${id}>`), ...write, ...data, ...file].join(' ');
}

/** Returns wrong statements of a row outside the operations; empty if all are correct. */
export function faultsOf({ what, client, sandbox, tests }: SpecificationRow): string[] {
  const lacks = ([file, text]: [string, string], folder: string) =>
    read(join(folder, file)).includes(text) ? [] : [`${what}: ${folder}/${file} lacks "${text}"`];
  const titles = tests.flatMap(([file, title]) => lacks([file, `'${title}'`], 'test'));
  return [...lacks(client, 'src'), ...lacks(sandbox, 'sandbox'), ...titles];
}

/** The document as it should be. */
export function clinicApiDocument(): string {
  const operations = documentedOperations().map(({ operation, command, calls, route, tests }) => [
    `\`${operation.method} ${operation.path}\``,
    operation.scope ?? '–',
    `\`${command}\``,
    `\`${calls}\``,
    `\`${route ?? '–'}\``,
    namesOf(tests),
  ]);
  const rows = SPECIFICATION_ROWS.map(({ section, what, client, sandbox, tests }) => [
    section,
    what,
    `\`src/${client[0]}\``,
    `\`sandbox/${sandbox[0]}\``,
    namesOf(tests.map(([, title]) => title)),
  ]);
  return [
    '# The clinic API',
    '',
    'If you change how clinic-mirror calls a clinic, find here each operation of the specification (section 4): its command after',
    '`clinic-mirror clinic <tenant>`, its function, its route in the sandbox clinic, and its tests. The source is one table,',
    '`src/clinic/schema/operations.ts`. The functions belong to `createClinicApi` (`src/clinic/api.ts`). The suite `test/clinic/whole-api`',
    'runs on all five dialects; `npm run dialects` counts the passed tests of each dialect. `test/operator/cli/clinic-operations.test.ts` runs each command',
    'and checks request, refusal and scope. `npm run generate` writes the tables;',
    '`test/clinic/schema/operations.test.ts` fails if a row has no function, no route or no test.',
    '',
    ...table(['operation', 'scope', 'command', 'function', 'sandbox route', 'tests'], operations),
    '',
    '## Sign-in, errors and limits',
    '',
    ...table(['section', 'requirement', 'here', 'sandbox', 'tests'], rows),
    '',
  ].join('\n');
}

function namesOf(tests: readonly string[]): string {
  const named = tests.slice(0, NAMED_TESTS).join('; ');
  return tests.length > NAMED_TESTS ? `${named}; ${tests.length - NAMED_TESTS} more` : named;
}

function table(heading: string[], lines: string[][]): string[] {
  const line = (cells: string[]) => `| ${cells.join(' | ')} |`;
  return [line(heading), line(heading.map(() => '---')), ...lines.map(line)];
}

/** Method and path of every route of the sandbox, parameters without their names → its file. */
export function sandboxRoutes(): Map<string, string> {
  const routes = new Map<string, string>();
  for (const name of readdirSync(join(root, ROUTES))) {
    const text = read(join(ROUTES, name));
    const base = /const BASE = '([^']+)'/.exec(text)?.[1] ?? '';
    const add = (method: string, path: string) => routes.set(`${method} ${shapeOfPath(path)}`, `${ROUTES}/${name}`);
    for (const [, method = '', path = ''] of text.matchAll(/app\.(get|post|put|delete)\(\s*(BASE|[`'][^`']+[`'])/g)) {
      const whole = path === 'BASE' ? base : path.slice(1, -1).replace(/^\$\{BASE\}/, base);
      if (!whole.includes('${')) add(method.toUpperCase(), whole);
    }
    // The catalogue has a list and single records for each of its names.
    for (const [, list = ''] of text.matchAll(/\breadOnly\('(\w+)'/g)) {
      add('GET', `${base}/${list}`);
      add('GET', `${base}/${list}/:id`);
    }
  }
  return routes;
}

/** A path whose parameters have no names. */
export function shapeOfPath(path: string): string {
  return path.replaceAll(/\{\w+\}|:\w+/g, '{}');
}

/** Every test of the suite and the operations that its text calls; a table of lists stands for the list and the read of each. */
function suiteTests(): { title: string; calls: ReadonlySet<string> }[] {
  const files = readdirSync(join(root, SUITE)).filter((name) => !name.endsWith('.test.ts'));
  return files.flatMap((name) => {
    const text = read(join(SUITE, name));
    const starts = [...text.matchAll(/\btest(?:\.each\(\w+\))?\(\s*'([^']+)'/g)];
    const listed = [...text.matchAll(/^ {4}list: '(\w+)',/gm)].map(([, list = '']) => list);
    return starts.flatMap(({ 1: title = '', index }, position) => {
      const body = text.slice(index, starts[position + 1]?.index ?? text.length);
      if (title.includes('$list')) {
        return listed.map((list) => ({
          title: title.replace('$list', list),
          calls: new Set([`${list}.list`, `${list}.read`]),
        }));
      }
      const called = [...body.matchAll(/\b(?:api|narrow|viewer|theirs)\.(\w+\.\w+)\(/g)];
      return [{ title, calls: new Set(called.map(([, call = '']) => call)) }];
    });
  });
}

function read(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

if (import.meta.main) writeFileSync(CLINIC_API_DOCUMENT, clinicApiDocument());
