// JavaScript instead of TypeScript: runs on Node >= 20, before the installation of dependencies.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Project folder, with a trailing slash. */
export const projectRoot = fileURLToPath(new URL('..', import.meta.url));

/** First major version of Node that runs TypeScript directly. */
const FIRST_SUITABLE_MAJOR = 24;

const packageName = `node-linux-${process.arch}`;

/** Returns true if the running Node can run the project's TypeScript. */
export function runningNodeSuffices() {
  return Number.parseInt(process.versions.node, 10) >= FIRST_SUITABLE_MAJOR;
}

/** Returns the version that package.json pins for the CPU of this host ("24.21.0"), or undefined without a pinned version. */
export function pinnedVersion() {
  if (process.platform !== 'linux') return undefined;
  const manifest = JSON.parse(readFileSync(`${projectRoot}package.json`, 'utf8'));
  return manifest.optionalDependencies?.[packageName];
}

/** Returns the path of the pinned Node, or undefined if the pinned Node is not installed. */
export function pinnedNode() {
  const beside = resolve(projectRoot, '..');
  // If clinic-mirror is installed as a package, its dependencies are in the parent folder.
  const folders = [`${projectRoot}node_modules`, ...(beside.endsWith('/node_modules') ? [beside] : [])];
  return folders.map((folder) => `${folder}/${packageName}/bin/node`).find((path) => existsSync(path));
}

/** Returns the message if neither the running Node nor the pinned Node is suitable. */
export function noSuitableNode() {
  return pinnedVersion() === undefined
    ? `clinic-mirror needs Node ${FIRST_SUITABLE_MAJOR} or newer on ${process.platform} ${process.arch}; this is ${process.version}.`
    : `clinic-mirror needs Node ${FIRST_SUITABLE_MAJOR} or newer; this is ${process.version}, and node_modules has no ${packageName}. ` +
        'Run "npm ci --include=optional" first, or use a newer Node.';
}

/**
 * Runs `node args…` as a replacement for this process: with the same terminal, forwarded signals, and the exit code or signal
 * of the child process.
 */
export function becomeNode(node, args) {
  const child = spawn(node, args, { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2']) {
    process.on(signal, () => {
      // The terminal sends Ctrl-C and Ctrl-\ to both processes. Forwarding would deliver the signal twice.
      const typed = process.stdin.isTTY && (signal === 'SIGINT' || signal === 'SIGQUIT');
      if (!typed) child.kill(signal);
    });
  }
  child.on('error', (error) => {
    console.error(`clinic-mirror: Cannot start ${node} (${error.code ?? error.message}).`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
