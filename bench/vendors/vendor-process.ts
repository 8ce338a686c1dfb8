import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startRadicale } from '../../tools/radicale.ts';
import type { VendorName, VendorTarget } from './vendors.ts';

/** A vendor in a process of its own, so that its work is not counted as ours. */
export interface VendorProcess extends AsyncDisposable {
  target: VendorTarget;
  /** What the vendor charged so far; null where that is one for each request. */
  units(): Promise<number | null>;
  /** Makes an empty calendar beside one; absent where one holds as much as is wanted. */
  calendarBeside?(container: string, number: number): Promise<string>;
}

const MAIN = fileURLToPath(new URL('./vendor-main.ts', import.meta.url));

/**
 * A vendor's sandbox, or Radicale for `caldav`.
 * @param latencyMs what each batch takes beside the sandbox's own work; Radicale takes its own time
 * @throws Error when it does not start
 */
export async function startVendor(name: VendorName | 'caldav', latencyMs = 0): Promise<VendorProcess> {
  if (name === 'caldav') return startCaldav();
  const child = fork(MAIN, [name, String(latencyMs)], { serialization: 'advanced' });
  const nextOf = async <Told>(): Promise<Told> => {
    const ended = once(child, 'exit').then(() => Promise.reject(new Error(`the ${name} sandbox ended`)));
    ended.catch(() => {});
    return (await Promise.race([once(child, 'message'), ended]))[0] as Told;
  };
  return {
    target: await nextOf<VendorTarget>(),
    units() {
      child.send('units');
      return nextOf();
    },
    async [Symbol.asyncDispose]() {
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}

async function startCaldav(): Promise<VendorProcess> {
  const user = { name: 'clinic', password: 'bench-password' };
  const radicale = await startRadicale({ users: [user] });
  if ('unavailable' in radicale) throw new Error(radicale.unavailable);
  return {
    target: {
      clients: {},
      connection: { kind: 'caldav', username: user.name, password: { env: 'TENANT_CLINIC__DAV_PASSWORD' } },
      secrets: { TENANT_CLINIC__DAV_PASSWORD: user.password },
      target: {
        connector: 'caldav',
        settings: { calendar: { home: `${radicale.url}/${user.name}/`, create: 'Appointments' } },
      },
      stream: 'appointments',
    },
    units: async () => null,
    async calendarBeside(container, number) {
      const beside = container.replace(/\/?$/, `-${number}/`);
      const authorization = `Basic ${Buffer.from(`${user.name}:${user.password}`).toString('base64')}`;
      const { status } = await fetch(new URL(beside, radicale.url), {
        method: 'MKCALENDAR',
        headers: { authorization },
      });
      if (status !== 201) throw new Error(`the calendar was not made: ${status}`);
      return beside;
    },
    [Symbol.asyncDispose]: () => radicale.stop(),
  };
}
