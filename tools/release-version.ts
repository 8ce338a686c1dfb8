// node tools/release-version.ts [--notes]: the version that is about to be released, or its notes; fails while it is not ready (docs/releasing.md).
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** A heading of the changelog, such as `## [0.2.0] – 2026-12-01` or `## [0.2.0] – unreleased`, and its text. */
export interface Release {
  version: string;
  /** Day of the release; null while it is unreleased. */
  day: string | null;
  notes: string;
}

/** Files that contain the version. */
export interface VersionSources {
  /** Text of CHANGELOG.md. */
  changelog: string;
  /** `version` of package.json. */
  manifest: string;
  /** `version` of package-lock.json. */
  lock: string;
}

const HEADING = /^## .*$/gm;
const FORM = /^## \[(\d+\.\d+\.\d+)\] – (unreleased|\d{4}-\d\d-\d\d)$/;

/** The versions of a changelog, newest first. @throws Error that names a heading of another form */
export function releasesIn(changelog: string): Release[] {
  const headings = [...changelog.matchAll(HEADING)];
  return headings.map(({ 0: heading, index }, place) => {
    const [, version, day] = FORM.exec(heading) ?? [];
    if (version === undefined || day === undefined) {
      throw new Error(`CHANGELOG.md: "${heading}": write "## [1.2.3] – 2026-01-31" or "## [1.2.3] – unreleased"`);
    }
    const end = headings[place + 1]?.index ?? changelog.length;
    const notes = changelog.slice(index + heading.length, end).trim();
    return { version, day: day === 'unreleased' ? null : day, notes };
  });
}

/** Returns contradictions; empty if the newest heading, package.json and package-lock.json contain one version. @throws as `releasesIn` */
export function versionFaults({ changelog, manifest, lock }: VersionSources): string[] {
  const [newest, ...older] = releasesIn(changelog);
  if (newest === undefined) return ['CHANGELOG.md has no version'];
  const said = { 'package.json': manifest, 'package-lock.json': lock };
  const differing = Object.entries(said).filter(([, version]) => version !== newest.version);
  const sorted = [newest, ...older].map(({ version }) => version);
  return [
    ...differing.map(
      ([file, version]) => `${file} says ${version}, the newest heading of CHANGELOG.md ${newest.version}`,
    ),
    ...older
      .filter(({ day }) => day === null)
      .map(({ version }) => `CHANGELOG.md: ${version} is unreleased, and not the newest`),
    ...sorted
      .filter((version, index) => index > 0 && !isBelow(version, sorted[index - 1] ?? ''))
      .map((version) => `CHANGELOG.md: ${version} follows a version that is not newer`),
  ];
}

function isBelow(one: string, other: string): boolean {
  const [left, right] = [one, other].map((version) => version.split('.').map(Number)) as [number[], number[]];
  const place = left.findIndex((part, index) => part !== right[index]);
  return place !== -1 && (left[place] ?? 0) < (right[place] ?? 0);
}

/** What the project's files say. @throws Error when one can't be read */
export function versionSources(root: string): VersionSources {
  const read = (name: string) => readFileSync(join(root, name), 'utf8');
  const versionIn = (name: string) => (JSON.parse(read(name)) as { version: string }).version;
  return { changelog: read('CHANGELOG.md'), manifest: versionIn('package.json'), lock: versionIn('package-lock.json') };
}

function main(): number {
  const sources = versionSources(join(import.meta.dirname, '..'));
  const [newest] = releasesIn(sources.changelog);
  const faults = versionFaults(sources);
  if (newest?.day === null)
    faults.push(`CHANGELOG.md: ${newest.version} is unreleased; put the day of the release there`);
  for (const fault of faults) console.error(fault);
  if (faults.length > 0) return 1;
  console.log(process.argv.includes('--notes') ? newest?.notes : newest?.version);
  return 0;
}

if (import.meta.main) process.exitCode = main();
