// node tools/with-setup.js <script.ts> [arguments…]
// Installs what package-lock.json names when that isn't done yet, then runs the script with the pinned Node.
// Plain JavaScript: runs on any Node >= 20, before anything is installed.
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
 * Settings of an outer `npm run` that would make an inner `npm ci` install something else or somewhere else. Others
 * (registry, proxies, cache, certificates) are the user's and stay.
 */
const MISLEADING_NPM_SETTINGS =
  /^npm_config_(also|cpu|dev|dry_run|global|libc|local_prefix|location|omit|include|only|optional|os|package_lock|package_lock_only|prefix|production|workspaces?|include_workspace_root|install_strategy)$/i;

async function main() {
  const [script, ...args] = process.argv.slice(2);
  if (script === undefined) fail('usage: node tools/with-setup.js <script.ts> [arguments…]');
  if (Number.parseInt(process.versions.node, 10) < 20) fail(`Node 20 or newer is needed; this is ${process.version}.`);

  await installWhenNeeded();
  const node = pinnedNode() ?? (pinnedVersion() === undefined && runningNodeSuffices() ? process.execPath : undefined);
  if (node === undefined) fail(noSuitableNode());
  // In a process of its own, so that the script is the main module: many do their work only then (import.meta.main).
  becomeNode(node, [resolve(script), ...args]);
}

/** Runs `npm ci` unless it was done for this very lock file; true when it was run. */
async function installWhenNeeded() {
  if (isInstalled()) return false;
  return await withFileLock(
    `${projectRoot}.cache/npm-ci.lock`,
    () => progress('Another start is installing the dependencies: waiting for it …'),
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
 * Whether `node_modules` holds what package-lock.json names, by the record that npm keeps there: also where a person has run `npm ci`. What is
 * optional may be missing, but for the pinned Node: packages differ by CPU, so that a folder shared between machines is installed again on each.
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

/** Undefined for a file that is missing or broken. */
function readLock(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}

/**
 * The npm that runs us is run by the Node that runs it; without one, the npm in PATH. Never by node_modules/.bin/node,
 * which `npm ci` is about to remove.
 */
function npmCi() {
  const env = Object.fromEntries(
    Object.entries(process.env).filter(([name]) => !MISLEADING_NPM_SETTINGS.test(name) && name !== 'NODE_ENV'),
  );
  env.PATH = (env.PATH ?? '')
    .split(delimiter)
    .filter((folder) => !folder.startsWith(modules))
    .join(delimiter);
  // An install script is needed by none of our dependencies, and not run.
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
    // Standard output belongs to the script: npm's goes to the terminal as ours does.
    const child = spawn(command, commandArgs, { cwd: projectRoot, env, stdio: ['ignore', 2, 2] });
    child.on('error', (error) =>
      fail(
        error.code === 'ENOENT'
          ? 'npm 10 or newer is needed, and not in PATH.'
          : `npm cannot be started: ${error.message}`,
      ),
    );
    child.on('exit', (code, signal) => {
      if (code === 0) return done();
      fail(
        `npm ci failed (${signal ?? `exit code ${code}`}); its message is above. ` +
          'It needs a package registry in reach, and leave to write to node_modules.',
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
