import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** How one case of the contract went for one connector. */
export interface CaseResult {
  group: string;
  title: string;
  result: 'passed' | 'failed' | 'skipped';
  /** Why it was skipped. */
  reason: string | null;
}

/** A connector's last run of the whole suite. */
export interface ContractReport {
  connector: string;
  cases: CaseResult[];
}

/** Where reports are kept, one JSON file per connector. */
export const REPORT_DIRECTORY = join(import.meta.dirname, '../../.cache/contract');

/** Keeps a connector's report in place of its last one. */
export function saveReport(report: ContractReport, directory = REPORT_DIRECTORY): void {
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, `${report.connector}.json`), `${JSON.stringify(report, null, 2)}\n`);
}

/** All reports that were kept, by name of connector. */
export function loadReports(directory = REPORT_DIRECTORY): ContractReport[] {
  const names = readdirSync(directory).filter((name) => name.endsWith('.json'));
  return names.sort().map((name) => JSON.parse(readFileSync(join(directory, name), 'utf8')) as ContractReport);
}

const WORDS = { passed: 'yes', failed: 'NO', skipped: 'n/a' } as const;

/** The table case × connector as Markdown, with the reasons of what was skipped below it. */
export function renderTable(reports: readonly ContractReport[]): string {
  const rows = new Map<string, Map<string, CaseResult>>();
  for (const report of reports) {
    for (const one of report.cases) {
      const name = `${one.group}: ${one.title}`;
      rows.set(name, (rows.get(name) ?? new Map()).set(report.connector, one));
    }
  }
  const names = reports.map((report) => report.connector);
  const lines = [`| case | ${names.join(' | ')} |`, `|---|${names.map(() => '---').join('|')}|`];
  const reasons: string[] = [];
  for (const [title, cells] of rows) {
    const words = names.map((name) => (cells.has(name) ? WORDS[cells.get(name)!.result] : '-'));
    lines.push(`| ${title} | ${words.join(' | ')} |`);
    for (const [name, one] of cells) if (one.reason) reasons.push(`- ${name}, ${title}: ${one.reason}`);
  }
  return [...lines, '', ...reasons, ''].join('\n');
}
