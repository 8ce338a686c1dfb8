// Plain JavaScript: runs on any Node >= 20, before anything is installed.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The folder of the project, with a slash at its end. */
export const projectRoot = fileURLToPath(new URL('..', import.meta.url));

/** The first major version of Node that runs TypeScript as it is. */
const FIRST_SUITABLE_MAJOR = 24;

const packageName = `node-linux-${process.arch}`;

/** Whether the running Node can run the project's TypeScript. */
export function runningNodeSuffices() {
  return Number.parseInt(process.versions.node, 10) >= FIRST_SUITABLE_MAJOR;
}

/** The version that package.json pins for this machine's CPU ("24.21.0"), or undefined where there is none. */
export function pinnedVersion() {
  if (process.platform !== 'linux') return undefined;
  const manifest = JSON.parse(readFileSync(`${projectRoot}package.json`, 'utf8'));
  return manifest.optionalDependencies?.[packageName];
}

/** The path of the installed pinned Node, or undefined when it isn't installed. */
export function pinnedNode() {
  const beside = resolve(projectRoot, '..');
  // Installed as a package, the program lies beside what it needs.
  const folders = [`${projectRoot}node_modules`, ...(beside.endsWith('/node_modules') ? [beside] : [])];
  return folders.map((folder) => `${folder}/${packageName}/bin/node`).find((path) => existsSync(path));
}

/** What to tell a person when neither the running Node nor the pinned one will do. */
export function noSuitableNode() {
  return pinnedVersion() === undefined
    ? `clinic-mirror needs Node ${FIRST_SUITABLE_MAJOR} or newer on ${process.platform} ${process.arch}; this is ${process.version}.`
    : `clinic-mirror needs Node ${FIRST_SUITABLE_MAJOR} or newer; this is ${process.version}, and node_modules has no ${packageName}. ` +
        'Run "npm ci --include=optional" first, or use a newer Node.';
}

/**
 * Runs `node args…` in place of this process: same terminal, signals passed on, and this process ends as that one does
 * (with its exit code, or by its signal).
 */
export function becomeNode(node, args) {
  const child = spawn(node, args, { stdio: 'inherit' });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR2']) {
    process.on(signal, () => {
      // The keys Ctrl-C and Ctrl-\ reach both processes: passing those on would make two of one.
      const typed = process.stdin.isTTY && (signal === 'SIGINT' || signal === 'SIGQUIT');
      if (!typed) child.kill(signal);
    });
  }
  child.on('error', (error) => {
    console.error(`clinic-mirror: ${node} cannot be started (${error.code ?? error.message}).`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1);
    process.removeAllListeners(signal);
    process.kill(process.pid, signal);
  });
}
