// npm run check: what `npm test` does before the tests.
import { runChecks } from './checks.ts';

process.exitCode = await runChecks();
