// npm run check: what `npm test` does before the tests, and known advisories, which another day may bring: so no test asks for them.
import { askForAdvisories, tellAdvisories } from './advisories.ts';
import { runChecks } from './checks.ts';

const [checked, advisories] = await Promise.all([runChecks(), askForAdvisories(process.env)]);
const told = tellAdvisories(advisories);
process.exitCode = checked || told;
