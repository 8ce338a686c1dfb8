import { loadReports, renderTable } from './report.ts';

/** Prints the table case × connector of the last runs: `node test/contract/print-table.ts`. */
process.stdout.write(renderTable(loadReports()));
