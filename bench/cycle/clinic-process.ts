import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { ClinicSandbox } from '../../sandbox/clinic/index.ts';

/** A clinic sandbox in a process of its own, so that its work is not counted as ours. */
export interface ClinicProcess
  extends Pick<ClinicSandbox, 'baseUrl' | 'authUrl' | 'tenants' | 'users' | 'clients'>,
    AsyncDisposable {}

const SANDBOX = fileURLToPath(new URL('../../sandbox/clinic/main.ts', import.meta.url));

/** @param options as `sandbox/clinic/main.ts` takes them on its command line, without the dashes */
export async function startClinicProcess(options: Readonly<Record<string, number>>): Promise<ClinicProcess> {
  const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = spawn(process.execPath, [SANDBOX, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const killWithParent = () => child.kill('SIGKILL');
  process.once('exit', killWithParent);
  return {
    ...(JSON.parse(await firstLine(child)) as Omit<ClinicProcess, keyof AsyncDisposable>),
    async [Symbol.asyncDispose]() {
      process.removeListener('exit', killWithParent);
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** @throws Error when it ends without having said anything */
async function firstLine(child: ChildProcess): Promise<string> {
  if (child.stdout !== null) for await (const line of createInterface(child.stdout)) return line;
  throw new Error('the clinic sandbox did not start');
}
