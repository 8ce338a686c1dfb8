import type { Composition } from '../../src/daemon/compose.ts';
import { createLoginServices } from '../../src/daemon/operator-services.ts';
import { loginWithBrowser } from '../../src/operator/control/logins.ts';
import { paced } from './pace.ts';

/** Authorises a connection like an operator in a browser. @param authorize visits a sign-in page and returns the URL of its redirect */
export async function logInTo(
  composition: Composition,
  place: { tenant: string; connection: string },
  authorize: (url: string) => Promise<string>,
  timeoutMs = paced(60_000),
): ReturnType<typeof loginWithBrowser> {
  const visits: Promise<unknown>[] = [];
  const visit = async (url: string) => (await fetch(await authorize(url))).text();
  const show = (url: string) => void visits.push(visit(url));
  const signal = AbortSignal.timeout(timeoutMs);
  const result = await loginWithBrowser(createLoginServices(composition), place, show, signal);
  await Promise.all(visits);
  return result;
}
