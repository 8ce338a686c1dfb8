import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { DAY_MS } from '../model/time.ts';
import type { AccessServices } from './access.ts';

/** Lifetime of the cookie; each sign-in renews it. */
export const REMEMBERED_BROWSER_LIFE_MS = 90 * DAY_MS;
const CONTEXT = 'known browser';

const ticket = z.object({ id: z.string(), account: z.string(), endsAt: z.number() });

/**
 * A browser in which an account signed in before. It has a budget of tries of its own, so that the wrong tries of others do not lock the account's
 * owner out. It is no session: who steals it gets the tries of that one budget, and who invents one gets nothing.
 */
export interface RememberedBrowser {
  /** Names the budget. */
  id: string;
  /** Account that signed in with it, `owner` for the passphrase. */
  account: string;
}

/** Opens what a browser shows; null if it is empty, expired, changed or invented. */
export function rememberedBrowserOf({ sealer, clock }: AccessServices, shown: string): RememberedBrowser | null {
  try {
    const { endsAt, ...known } = ticket.parse(JSON.parse(sealer.open(shown, CONTEXT)));
    return endsAt > clock() ? known : null;
  } catch {
    return null;
  }
}

/** Makes what a browser keeps after a sign-in. A browser that was known for the same account keeps its budget. */
export function rememberBrowser(
  { sealer, clock }: AccessServices,
  account: string,
  before: RememberedBrowser | null,
): string {
  const id = before?.account === account ? before.id : randomUUID();
  return sealer.seal(JSON.stringify({ id, account, endsAt: clock() + REMEMBERED_BROWSER_LIFE_MS }), CONTEXT);
}
