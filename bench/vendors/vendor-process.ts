import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { startRadicale } from '../../tools/radicale.ts';
import type { VendorName, VendorTarget } from './vendors.ts';

/** A vendor in a separate process, so that its processor time is not measured. */
export interface VendorProcess extends AsyncDisposable {
  target: VendorTarget;
  /** Units charged so far; null if each request is one unit. */
  units(): Promise<number | null>;
  /** Makes an additional empty calendar; absent if one calendar is large enough. */
  calendarBeside?(container: string, number: number): Promise<string>;
}

const MAIN = fileURLToPath(new URL('./vendor-main.ts', import.meta.url));

/**
 * Starts a vendor's sandbox, or Radicale for `caldav`.
 * @param latencyMs additional time of each batch; Radicale has no additional time
 * @throws Error if the sandbox does not start
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
