import { message } from '../messages/message.ts';
import type { TokenSet } from '../model/credentials.ts';
import { MirrorError } from '../model/errors.ts';
import { isSecureUrl } from './providers.ts';

/** The place of stored tokens; null when none was told, or a login from before knew none. */
export function baseUrlOf(tokens: TokenSet): string | null {
  return tokens.baseUrl ?? null;
}

/**
 * The origin in Salesforce's `instance_url`; null when it is none, or not one that tokens may be sent to.
 * @see https://help.salesforce.com/s/articleView?id=xcloud.remoteaccess_oauth_web_server_flow.htm
 */
export function readBaseUrl(instanceUrl: unknown): string | null {
  return typeof instanceUrl === 'string' && isSecureUrl(instanceUrl) ? new URL(instanceUrl).origin : null;
}

/** @throws MirrorError `authorization`, code `instance-unknown`: a new login brings it */
export function requireBaseUrl(baseUrl: string | null, connection: string): string {
  if (baseUrl !== null) return baseUrl;
  throw new MirrorError(message('instance-unknown', { connection }), {
    actor: 'authorization',
    code: 'instance-unknown',
    retry: 'never',
    remedy: message('instance-unknown.remedy', { command: `clinic-mirror login <tenant> ${connection}` }),
  });
}
