/** Known advisories (https://docs.npmjs.com/cli/commands/npm-audit) about the packages of the lock file. */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const projectRoot = fileURLToPath(new URL('..', import.meta.url));
/** A slower registry is treated as unreachable. */
const LONGEST_MS = 30_000;

/** What a registry says of the packages; `asked: false` where it does not answer, with the reason. */
export type Advisories = { asked: true; found: string[] } | { asked: false; why: string };

/** The part of npm's answer that we read. */
interface Audit {
  vulnerabilities?: Record<string, { via: (string | Via)[] }>;
  error?: { code?: string | null; summary?: string };
  message?: string;
}

interface Via {
  severity: string;
  /** Versions that it is about. */
  range: string;
  title: string;
  url: string;
}

/** Asks the registry that npm is set up with. @param env with its settings, such as `npm_config_registry` */
export async function askForAdvisories(env: NodeJS.ProcessEnv, root = projectRoot): Promise<Advisories> {
  const args = ['audit', '--json', '--fetch-retries=0', `--fetch-timeout=${LONGEST_MS}`];
  const answer = await new Promise<string>((resolve) => {
    // The exit code is 0 without advisories, and 1 with advisories or without an answer: only the output distinguishes the two.
    execFile('npm', args, { cwd: root, env, timeout: 2 * LONGEST_MS, maxBuffer: 64 * 1024 ** 2 }, (_, out) =>
      resolve(out),
    );
  });
  return readAudit(answer);
}

/** @param answer what `npm audit --json` printed */
function readAudit(answer: string): Advisories {
  let audit: Audit;
  try {
    audit = JSON.parse(answer) as Audit;
  } catch {
    return { asked: false, why: 'npm audit gave no answer' };
  }
  if (audit.vulnerabilities === undefined) {
    return { asked: false, why: audit.message ?? audit.error?.summary ?? 'npm audit gave no answer' };
  }
  const found = Object.entries(audit.vulnerabilities).flatMap(([name, { via }]) =>
    via
      .filter((one) => typeof one !== 'string')
      .map(({ severity, range, title, url }) => `${name} ${range} (${severity}): ${title}, ${url}`),
  );
  return { asked: true, found };
}

/** Prints the result to standard error. @returns the exit code: 1 if an advisory exists */
export function tellAdvisories(advisories: Advisories): number {
  if (!advisories.asked) {
    console.error(`[check] advisories NOT CHECKED: the registry does not tell (${advisories.why})`);
    return 0;
  }
  for (const line of advisories.found) console.error(line);
  const count = advisories.found.length;
  console.error(count === 0 ? '[check] advisories passed: none is known' : `[check] advisories FAILED: ${count} known`);
  return count === 0 ? 0 : 1;
}
