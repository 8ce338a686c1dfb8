// node tools/with-setup.js <script.ts> [arguments…]
// Installs missing dependencies of package-lock.json, then runs the script with the pinned Node.
// JavaScript instead of TypeScript: runs on Node >= 20, before the installation of dependencies.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { delimiter, resolve } from 'node:path';
import {
  becomeNode,
  noSuitableNode,
  pinnedNode,
  pinnedVersion,
  projectRoot,
  runningNodeSuffices,
} from '../bin/pinned-node.js';
import { withFileLock } from './file-lock.js';

const modules = `${projectRoot}node_modules`;

/**
 * Settings of an outer `npm run` that would change the packages or the folder of an inner `npm ci`. Other settings of the
 * user (registry, proxies, cache, certificates) remain.
 */
const MISLEADING_NPM_SETTINGS =
  /^npm_config_(also|cpu|dev|dry_run|global|libc|local_prefix|location|omit|include|only|optional|os|package_lock|package_lock_only|prefix|production|workspaces?|include_workspace_root|install_strategy)$/i;

async function main() {
  const [script, ...args] = process.argv.slice(2);
  if (script === undefined) fail('usage: node tools/with-setup.js <script.ts> [arguments…]');
  if (Number.parseInt(process.versions.node, 10) < 20)
    fail(`Node 20 or newer is required; this is ${process.version}.`);

  await installWhenNeeded();
  const node = pinnedNode() ?? (pinnedVersion() === undefined && runningNodeSuffices() ? process.execPath : undefined);
  if (node === undefined) fail(noSuitableNode());
  // In a separate process, so that the script is the main module: many scripts check import.meta.main.
  becomeNode(node, [resolve(script), ...args]);
}

/** Runs `npm ci` unless the installation matches the lock file. Returns true if `npm ci` was run. */
async function installWhenNeeded() {
  if (isInstalled()) return false;
  return await withFileLock(
    `${projectRoot}.cache/npm-ci.lock`,
    () => progress('Waiting for another process that installs the dependencies …'),
    async () => {
      if (isInstalled()) return false;
      progress(existsSync(modules) ? 'Dependencies have changed: npm ci …' : 'Installing dependencies: npm ci …');
      const startedAt = Date.now();
      await npmCi();
      progress(`Dependencies installed in ${((Date.now() - startedAt) / 1000).toFixed(1)} s.`);
      return true;
    },
  );
}

/**
 * Returns true if `node_modules` matches package-lock.json, according to npm's own record, so a manual `npm ci` is recognized. Optional
 * packages may be missing, except the pinned Node: packages depend on the CPU, so a folder shared by hosts is installed again on each host.
 */
function isInstalled() {
  const [wanted, there] = [`${projectRoot}package-lock.json`, `${modules}/.package-lock.json`].map(readLock);
  if (wanted === undefined || wanted.version !== there?.version) return false;
  if (pinnedVersion() !== undefined && pinnedNode() === undefined) return false;
  const isThere = ([path, { optional, version, integrity }]) => {
    const found = there.packages[path];
    return found === undefined ? optional === true : found.version === version && found.integrity === integrity;
  };
  return Object.entries(wanted.packages)
    .filter(([path]) => path.startsWith('node_modules/'))
    .every(isThere);
}

/** Returns undefined for a missing or invalid file. */
function readLock(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

/**
 * Runs `npm ci` with the npm and Node of the outer `npm run`, otherwise with the npm in PATH. Never uses node_modules/.bin/node,
 * because `npm ci` removes that file.
 */
function npmCi() {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !MISLEADING_NPM_SETTINGS.test(name) && name !== 'NODE_ENV'),
  );
  env.PATH = (env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => !folder.startsWith(modules))
    .join(delimiter);
  // No dependency requires an install script.
  const args = [
    'ci',
    '--include=dev',
    '--include=optional',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--loglevel=error',
  ];
  const { npm_execpath: npmScript, npm_node_execpath: npmNode } = process.env;
  const outer = npmScript?.endsWith('npm-cli.js') && npmNode !== undefined && !npmNode.startsWith(modules);
  const [command, commandArgs] = outer ? [npmNode, [npmScript, ...args]] : ['npm', args];

  return new Promise((done) => {
    // npm writes to standard error, because standard output is reserved for the script.
    const child = spawn(command, commandArgs, { cwd: projectRoot, env, stdio: ['ignore', 2, 2] });
    child.on('error', (error) =>
      fail(
        error.code === 'ENOENT'
          ? 'npm 10 or newer is required, but npm is not in PATH.'
          : `Cannot start npm: ${error.message}`,
      ),
    );
    child.on('exit', (code, signal) => {
      if (code === 0) return done();
      fail(
        `npm ci failed (${signal ?? `exit code ${code}`}). See the message above. ` +
          'Requirements: access to the package registry, and write permission for node_modules.',
      );
    });
  });
}

function progress(message) {
  console.error(`[set-up] ${message}`);
}

function fail(message) {
  console.error(`[set-up] ${message}`);
  process.exit(1);
}

await main();
