import { MirrorError } from '../model/errors.ts';
import type { ConnectionAuthorizer } from './authorizer.ts';

/**
 * Makes the authorizer of a login by name and password, as CalDAV servers take it.
 * @throws MirrorError `settings` when the name holds a colon
 * @see RFC 7617
 */
export function createBasicAuthorizer(connection: string, username: string, password: string): ConnectionAuthorizer {
  if (username.includes(':')) {
    throw new MirrorError(`the user name of the connection "${connection}" holds a colon`, {
      actor: 'settings',
      code: 'username-invalid',
      retry: 'never',
      remedy: 'a user name for basic authentication has no colon (RFC 7617)',
    });
  }
  const value = `Basic ${Buffer.from(`${username}:${password}`, 'utf8').toString('base64')}`;
  return {
    quotaUser: null,
    header: async () => value,
    async renew() {
      throw new MirrorError(`the server refuses the name and password of the connection "${connection}"`, {
        actor: 'authorization',
        code: 'password-refused',
        retry: 'never',
        remedy: 'correct the username in the tenant file, or the password',
      });
    },
  };
}

/**
 * Makes the authorizer of a token without an end, as vendors give it to private applications.
 * @see RFC 6750 section 2.1
 */
export function createBearerAuthorizer(connection: string, token: string): ConnectionAuthorizer {
  return { quotaUser: null, header: async () => `Bearer ${token}`, renew: () => refuseKey(connection, 'token') };
}

/**
 * Makes the authorizer of a key that goes into a header by itself.
 * @param header in any case of letters
 */
export function createKeyAuthorizer(connection: string, header: string, key: string): ConnectionAuthorizer {
  const headerName = header.toLowerCase();
  return {
    quotaUser: null,
    ...(headerName === 'authorization' ? {} : { headerName }),
    header: async () => key,
    renew: () => refuseKey(connection, 'key'),
  };
}

/** There is nothing to renew: a person must make another. */
async function refuseKey(connection: string, what: 'token' | 'key'): Promise<never> {
  throw new MirrorError(`the server refuses the ${what} of the connection "${connection}"`, {
    actor: 'authorization',
    code: 'key-refused',
    retry: 'never',
    remedy: `make another ${what} at the vendor, and put it in the place of the refused one`,
  });
}
