import { asMirrorError } from '../../../model/errors.ts';
import type { Delivery } from './channel.ts';

/**
 * What a request that brought no whole answer means for a reminder: surely not sent, or perhaps.
 * @throws MirrorError `settings`, as it came: nothing was sent
 */
export function deliveryOfFailure(error: unknown): Delivery {
  const failure = asMirrorError(error);
  if (failure.actor === 'settings') throw failure;
  const { code, ambiguous, retryAfterMs = null } = failure;
  if (failure.actor === 'remote' && !ambiguous) return { result: 'later', code, retryAfterMs };
  return { result: 'unknown', code };
}
