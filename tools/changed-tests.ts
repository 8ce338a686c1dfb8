// Chooses the tests that a change can break, from the imports between files.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { allTestFiles, tierOf } from '../test/support/tiers.ts';
import { type ImportsOf, importersOf, importReader, sourceFiles } from './import-graph.ts';

/** Files that change what every test means: after a change of one, the whole quick tier runs. */
const EVERYWHERE = /^(package(-lock)?\.json|tsconfig\.json|vitest\.config\.ts|test\/support\/global-setup\.ts)$/;

/** What the choice reads: replaced in tests. */
export interface Project {
  /** Source files, as paths from the project's folder. */
  files: readonly string[];
  tests: readonly string[];
  importsOf: ImportsOf;
  read(file: string): string;
}

export function projectAt(root: string): Project {
  return {
    files: sourceFiles(root),
    tests: allTestFiles(root),
    importsOf: importReader(root),
    read: (file) => readFileSync(join(root, file), 'utf8'),
  };
}

/**
 * Returns files that differ from a revision, including files that git does not track yet.
 * @param since default: the last commit
 * @throws Error of git if the revision does not exist
 */
export function changedFiles(root: string, since = 'HEAD'): string[] {
  const git = (...args: string[]) =>
    execFileSync('git', args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).split('\0');
  const tracked = git('diff', '--name-only', '--no-renames', '-z', since, '--');
  const added = git('ls-files', '--others', '--exclude-standard', '-z');
  return [...new Set([...tracked, ...added])].filter((file) => file !== '').sort();
}

/**
 * Returns the test files to run after a change:
 *
 * - of the quick tier, files that reach a changed file through imports. What stands behind a connector's contract is not followed: after
 *   a change in the folder of a vendor, the tests of that vendor run, not the tests of the whole program;
 * - of the full tier, files that reach a changed file through its own module only, such as the contract suite of a vendor;
 * - files that run at each change.
 *
 * A changed file that is not source code, such as a script or a profile, stands for source files that contain its name.
 */
export function testsOfChange(changed: readonly string[], project: Project): string[] {
  const { files, tests, importsOf, read } = project;
  const stated = new Map(tests.map((file) => [file, tierOf(file, read(file))]));
  if (changed.some((file) => EVERYWHERE.test(file))) {
    return tests.filter((file) => stated.get(file)?.tier === 'quick');
  }
  const sources = changed.flatMap((file) => (files.includes(file) ? [file] : namedBy(file, project)));
  const byContract = importersOf(sources, files, importsOf, (importer, imported) => !leavesVendor(importer, imported));
  const modules = new Set(sources.map(moduleOf));
  const byModule = importersOf(
    sources,
    files,
    importsOf,
    (importer) => isTestSide(importer) || modules.has(moduleOf(importer)),
  );
  return tests.filter((file) => {
    const statement = stated.get(file);
    if (statement?.atEachChange || changed.includes(file)) return true;
    return statement?.tier === 'full' ? byModule.has(file) : byContract.has(file);
  });
}

/** Whether an import leads from a vendor's folder to the rest of the program, which sees the connector's contract only. */
function leavesVendor(importer: string, imported: string): boolean {
  const vendor = vendorOf(imported);
  return vendor !== null && importer.startsWith('src/') && vendorOf(importer) !== vendor;
}

function vendorOf(file: string): string | null {
  return /^src\/connectors\/[^/]+\/(?=.)/.exec(file)?.[0] ?? null;
}

/** The folder below `src/`, below `src/core/` or below `src/operator/`, or the vendor's folder. */
function moduleOf(file: string): string {
  return vendorOf(file) ?? /^src\/(?:(?:core|operator)\/)?[^/]+/.exec(file)?.[0] ?? file;
}

function isTestSide(file: string): boolean {
  return !file.startsWith('src/');
}

/** Source files that contain the name of another file. */
function namedBy(file: string, { files, read }: Project): string[] {
  const name = basename(file);
  return files.filter((source) => read(source).includes(name));
}

/** Whether a changed file still exists, for checks of single files. */
export function existing(root: string, files: readonly string[]): string[] {
  return files.filter((file) => existsSync(join(root, file)));
}
