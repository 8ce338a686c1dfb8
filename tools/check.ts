// npm run check: the checks that `npm test` runs before the tests, and known advisories. Advisories can change any day, so no test requests
// them.
import { askForAdvisories, tellAdvisories } from './advisories.ts';
import { runChecks } from './checks.ts';

const [checked, advisories] = await Promise.all([runChecks(), askForAdvisories(process.env)]);
const told = tellAdvisories(advisories);
process.exitCode = checked || told;
