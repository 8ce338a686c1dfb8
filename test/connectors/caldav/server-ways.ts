import { onTestFinished } from 'vitest';
import { type CaldavSandbox, type DialectName, startCaldavSandbox } from '../../../sandbox/caldav/index.ts';
import { startFaultProxy } from '../../../sandbox/kit/fault-proxy.ts';

/** A calendar on a server with the behaviour of a dialect, until the end of the calling test. */
export interface ServerWithWays {
  sandbox: CaldavSandbox;
  /** The calendar, through a proxy that notes requests. */
  container: string;
  /** The calendar's path. */
  calendarPath: string;
  /** Methods of the requests through the proxy. */
  requests: string[];
  /** Bodies of it. */
  bodies: string[];
}

/** Starts a server with the credentials of the scripted servers. */
export async function openWays(dialect: DialectName): Promise<ServerWithWays> {
  const sandbox = await startCaldavSandbox({ dialect, user: 'me', password: 'secret' });
  const calendarPath = sandbox.addCalendar('clinic');
  const [requests, bodies]: [string[], string[]] = [[], []];
  const proxy = await startFaultProxy(sandbox.url, {
    answered({ method, body }) {
      requests.push(method);
      bodies.push(body);
    },
  });
  onTestFinished(async () => {
    await proxy.close();
    await sandbox.close();
  });
  return { sandbox, container: `${proxy.url}${calendarPath}`, calendarPath, requests, bodies };
}
