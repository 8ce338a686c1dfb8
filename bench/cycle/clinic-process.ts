import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { SimulatedWork } from '../../sandbox/clinic/front-desk.ts';
import type { ClinicSandbox } from '../../sandbox/clinic/index.ts';

/** A clinic sandbox in a separate process, so that its processor time is not measured. */
export interface ClinicProcess
  extends Pick<ClinicSandbox, 'baseUrl' | 'authUrl' | 'tenants' | 'users' | 'clients'>,
    AsyncDisposable {
  /** Has so much done at the front desk. */
  simulate(tenantId: string, work: SimulatedWork): Promise<void>;
}

const SANDBOXES = fileURLToPath(new URL('../../sandbox/main.ts', import.meta.url));

/** @param options as `npm run sandbox -- clinic` takes them, without the dashes */
export async function startClinicProcess(options: Readonly<Record<string, number>>): Promise<ClinicProcess> {
  const given = Object.entries({ port: 0, 'auth-port': 0, ...options });
  const args = given.flatMap(([name, value]) => [`--${name}`, String(value)]);
  const child = spawn(process.execPath, [SANDBOXES, 'clinic', '--json', ...args], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const killWithParent = () => child.kill('SIGKILL');
  process.once('exit', killWithParent);
  return {
    ...(JSON.parse(await nextOf(lines)) as Omit<ClinicProcess, keyof AsyncDisposable | 'simulate'>),
    async simulate(tenantId, work) {
      child.stdin.write(`${JSON.stringify({ tenantId, ...work })}\n`);
      await nextOf(lines);
    },
    async [Symbol.asyncDispose]() {
      process.removeListener('exit', killWithParent);
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** @throws Error when the process ended */
async function nextOf(lines: AsyncIterator<string>): Promise<string> {
  const { value, done } = await lines.next();
  if (done === true) throw new Error('the clinic sandbox ended');
  return value;
}
