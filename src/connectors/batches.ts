import type { MirrorError } from '../model/errors.ts';
import type { Clock, Instant } from '../model/time.ts';
import type { Authorizer } from './connector.ts';
import type { SendCalls } from './flow.ts';
import type { WireCall, WireResponse } from './wire.ts';

/** `refused`: the batch as a whole was refused ({@link isRefusedWhole}), and nothing of it was carried out. */
export type BatchAnswer = { answers: (WireResponse | null)[] } | { refused: WireResponse };

/** A vendor's way to send batches. */
export interface BatchVendor {
  authorizer: Authorizer;
  /** Most calls in one batch. */
  batchSize: number;
  sendBatch(calls: readonly WireCall[], authorization: string, signal: AbortSignal): Promise<BatchAnswer>;
  /** The error of a login that was renewed and refused again. */
  loginRefused(answer: WireResponse): MirrorError;
  /** Where parts of one batch may crowd each other out. */
  crowding?: Crowding;
}

/** How a vendor refuses a part for the others that came with it, and for how long no batch holds more than came through then. */
interface Crowding {
  clock: Clock;
  isCrowdedOut(answer: WireResponse): boolean;
  restMs: number;
}

/** Statuses that no member of a batch brings about: of the login, of limits, of a server that is busy. */
const NO_MEMBERS_FAULT: ReadonlySet<number> = new Set([403, 407, 408, 421, 423, 424, 425, 429]);

/** Whether the status of a whole batch may be the fault of a member, or of the login: then it is sent again. */
export function isRefusedWhole(status: number): boolean {
  return status >= 400 && status < 500 && !NO_MEMBERS_FAULT.has(status);
}

/**
 * Calls `send` with the login's header; after a 401 once more with a renewed one.
 * @throws MirrorError `authorization` when the renewed login is refused too
 */
export async function withLogin(
  { authorizer, loginRefused }: Pick<BatchVendor, 'authorizer' | 'loginRefused'>,
  signal: AbortSignal,
  send: (authorization: string) => Promise<WireResponse>,
): Promise<WireResponse> {
  const first = await send(await authorizer.header(signal));
  if (first.status !== 401) return first;
  const second = await send(await authorizer.renew(signal));
  if (second.status === 401) throw loginRefused(second);
  return second;
}

/**
 * Sends calls in batches, one after the other. A batch that the server refuses is halved. When it was too large, later ones are no larger than
 * what it took; when a call is refused alone too, that one was to blame, and those after it grow again; one whose parts crowded each other out lets the next ones be as small as what came through, for a while. Parts that
 * were refused for their login are sent once more with a renewed one.
 * @returns answers in the calls' order, null for a part that the answer lacks
 */
export function createBatchSender(vendor: BatchVendor): (signal: AbortSignal) => SendCalls {
  const { crowding } = vendor;
  let limit = vendor.batchSize;
  let crowded: { limit: number; until: Instant } | null = null;
  const limitNow = () =>
    crowding !== undefined && crowded !== null && crowding.clock() < crowded.until
      ? Math.min(limit, crowded.limit)
      : limit;
  const recordCrowding = (answers: readonly (WireResponse | null)[]) => {
    if (crowding === undefined) return;
    const crowdedOut = answers.filter((answer) => answer !== null && crowding.isCrowdedOut(answer)).length;
    const through = answers.length - crowdedOut;
    // Where nothing came through it is not the others that were in the way.
    if (crowdedOut > 0 && through > 0) crowded = { limit: through, until: crowding.clock() + crowding.restMs };
  };
  return (signal) => async (calls) => {
    const login = { authorization: await vendor.authorizer.header(signal), renewed: false };
    const answers: (WireResponse | null)[] = [];
    const part = { size: limit, isOneToBlame: false };
    while (answers.length < calls.length) {
      const slice = calls.slice(answers.length, answers.length + Math.min(part.size, limitNow()));
      const batch = await sendWithLogin(vendor, slice, login, signal);
      if ('refused' in batch) {
        part.size = Math.ceil(slice.length / 2);
        if (slice.length > 1) continue;
        answers.push(batch.refused);
        part.isOneToBlame = true;
        continue;
      }
      recordCrowding(batch.answers);
      answers.push(...batch.answers);
      if (part.isOneToBlame) part.size *= 2;
    }
    if (!part.isOneToBlame) limit = Math.min(limit, part.size);
    return answers;
  };
}

async function sendWithLogin(
  vendor: BatchVendor,
  calls: readonly WireCall[],
  login: { authorization: string; renewed: boolean },
  signal: AbortSignal,
): Promise<BatchAnswer> {
  const batch = await vendor.sendBatch(calls, login.authorization, signal);
  const answers = 'refused' in batch ? calls.map(() => batch.refused) : batch.answers;
  const refused = calls.filter((_, index) => answers[index]?.status === 401);
  if (refused.length === 0) return batch;
  if (login.renewed) return unlessAllRefused(vendor, answers);
  login.authorization = await vendor.authorizer.renew(signal);
  login.renewed = true;
  const again = await vendor.sendBatch(refused, login.authorization, signal);
  if ('refused' in again) return again.refused.status === 401 ? unlessAllRefused(vendor, answers) : again;
  const renewed = again.answers[Symbol.iterator]();
  const merged = answers.map((answer) => (answer?.status === 401 ? (renewed.next().value ?? null) : answer));
  return unlessAllRefused(vendor, merged);
}

/** When the login was refused for every call there is nothing to say of any. */
function unlessAllRefused({ loginRefused }: BatchVendor, answers: (WireResponse | null)[]): BatchAnswer {
  const [first] = answers;
  if (first && answers.every((answer) => answer?.status === 401)) throw loginRefused(first);
  return { answers };
}
