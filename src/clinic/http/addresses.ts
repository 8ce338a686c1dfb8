import { MirrorError } from '../../model/errors.ts';
import type { ClinicContext } from './context.ts';
import { asId } from './rows.ts';

type Address = Pick<ClinicContext, 'baseUrl' | 'profile'>;

/**
 * The address of a path below the version prefix. Every segment is encoded.
 * @throws MirrorError `contract`, code `bad-id`, for a segment that is empty or would climb up the path
 */
export function addressOf(context: Address, segments: readonly string[], parameters: [string, string][] = []): string {
  const path = segments.map((segment) => `/${encodeURIComponent(usable(segment))}`).join('');
  const query = parameters.length === 0 ? '' : `?${new URLSearchParams(parameters)}`;
  return `${context.baseUrl.replace(/\/+$/, '')}${context.profile.pathPrefix}${path}${query}`;
}

/**
 * The address of a link that the clinic gave for the next page. It must stay on the clinic's own origin, since the token goes there.
 * @throws MirrorError `contract`, code `foreign-link`
 */
export function addressOfLink(context: Address, link: string, currentUrl: string, label: string): string {
  const url = URL.parse(link, currentUrl);
  if (url !== null && url.origin === new URL(context.baseUrl).origin) return url.href;
  throw new MirrorError(`${label}: the link to the next page leads to another host`, {
    actor: 'contract',
    code: 'foreign-link',
    retry: 'never',
    remedy: 'use the base URL under which the clinic gives its links',
  });
}

function usable(segment: string): string {
  const id = asId(segment);
  if (id !== null) return id;
  throw new MirrorError('an id can not stand in an address', { actor: 'contract', code: 'bad-id', retry: 'never' });
}
