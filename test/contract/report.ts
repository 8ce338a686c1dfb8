import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { renderTable, wrap } from '../../src/operator/cli/table.ts';

/** How one case of the contract went for one connector. */
export interface CaseResult {
  group: string;
  title: string;
  result: 'passed' | 'failed' | 'skipped';
  /** Why it was skipped. */
  reason: string | null;
}

/** A connector's last run of the whole suite, or of the part that one test file runs. */
export interface ContractReport {
  connector: string;
  cases: CaseResult[];
  /** Name of the part; absent for the main part. */
  part?: string | undefined;
}

/** Where reports are kept, one JSON file per connector and part. */
export const REPORT_DIRECTORY = join(import.meta.dirname, '../../.cache/contract');

/** Replaces a connector's previous report of the same part. */
export function saveReport(report: ContractReport, directory = REPORT_DIRECTORY): void {
  mkdirSync(directory, { recursive: true });
  const name = [report.connector, report.part ?? [], 'json'].flat().join('.');
  writeFileSync(join(directory, name), `${JSON.stringify(report, null, 2)}\n`);
}

/** All reports that were kept, by name of connector, with all parts of each. */
export function loadReports(directory = REPORT_DIRECTORY): ContractReport[] {
  const names = readdirSync(directory).filter((name) => name.endsWith('.json'));
  const parts = names.sort().map((name) => JSON.parse(readFileSync(join(directory, name), 'utf8')) as ContractReport);
  const byConnector = Map.groupBy(parts, ({ connector }) => connector);
  return [...byConnector].map(([connector, of]) => ({ connector, cases: of.flatMap(({ cases }) => cases) }));
}

/** One cell of the table as `npm run contract -- --json` prints it. */
export interface ContractRow {
  case: string;
  connector: string;
  result: CaseResult['result'];
  reason: string | null;
}

/** Every case of every connector. */
export function rowsOf(reports: readonly ContractReport[]): ContractRow[] {
  return reports.flatMap(({ connector, cases }) =>
    cases.map(({ group, title, result, reason }) => ({ case: `${group}: ${title}`, connector, result, reason })),
  );
}

const WORDS = { passed: 'yes', failed: 'NO', skipped: 'n/a' } as const;

/** Renders the table case × connector, with the reasons of skips below it. */
export function renderContract(reports: readonly ContractReport[]): string {
  const rows = rowsOf(reports);
  const connectors = reports.map(({ connector }) => connector);
  const cases = [...new Set(rows.map((row) => row.case))];
  const word = (name: string, connector: string) => {
    const found = rows.find((row) => row.case === name && row.connector === connector);
    return found === undefined ? '–' : WORDS[found.result];
  };
  const columns = ['case', ...connectors];
  const table = renderTable(
    columns,
    cases.map((name) => [name, ...connectors.map((connector) => word(name, connector))]),
  );
  const counts = connectors.map((connector) => {
    const of = (result: string) => rows.filter((row) => row.connector === connector && row.result === result).length;
    return `${connector}: ${of('passed')} passed, ${of('failed')} failed, ${of('skipped')} skipped`;
  });
  const reasons = rows
    .filter(({ reason }) => reason !== null)
    .map(({ case: name, connector, reason }) => wrap(`${connector}, ${name}: ${reason}`, '  '));
  return [table, '', ...counts, ...(reasons.length === 0 ? [] : ['', 'Skipped:', ...reasons])].join('\n');
}
