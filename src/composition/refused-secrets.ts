import { MirrorError } from '../model/errors.ts';
import { namingSources, Secret } from '../settings/secret-reference.ts';
import type { OpenConnection } from './open-connection.ts';

/** Codes with which a vendor or the clinic refuses what a secret proves, or with which a secret turns out to be unusable. */
const REFUSALS: ReadonlySet<string> = new Set([
  'application-not-allowed',
  'client-certificate',
  'client-rejected',
  'key-refused',
  'password-refused',
  'service-account-key',
  'service-account-refused',
]);

/**
 * Opens a connection whose refusals name the files and variables that its secrets are read from: in whatever command or job they show.
 * @param holders what the configuration says of the connection and of its client
 */
export function namingSecrets(holders: readonly (object | undefined)[], open: () => OpenConnection): OpenConnection {
  const secrets = holders.flatMap((holder) => Object.values(holder ?? {})).filter((value) => value instanceof Secret);
  if (secrets.every(({ readFrom }) => readFrom === null)) return open();
  const explain = (error: unknown) => explained(error, secrets);
  const opened = explaining({ open }, explain).open();
  const wrapped = new WeakMap<object, object>();
  // Targets of one login go on sharing one authorizer.
  const once = <Part extends object>(part: Part): Part => {
    const made = (wrapped.get(part) as Part | undefined) ?? explaining(part, explain);
    wrapped.set(part, made);
    return made;
  };
  const { tokens } = opened;
  const login = tokens && { ...tokens.login, server: once(tokens.login.server) };
  return {
    ...opened,
    authorizer: (purpose) => once(once(opened).authorizer(purpose)),
    tokens: tokens && login && { ...tokens, authorizer: once(tokens.authorizer), login },
  };
}

/** Adds to a refusal the places that the refused secrets are read from; other errors stay as they are. */
function explained(error: unknown, secrets: readonly Secret<unknown>[]): unknown {
  if (!(error instanceof MirrorError) || !REFUSALS.has(error.code)) return error;
  return error.reworded(error.message, namingSources(error.remedy ?? 'correct the secret', secrets));
}

/** Wraps an object so that every error of its methods is explained, thrown or rejected. */
function explaining<Wrapped extends object>(wrapped: Wrapped, explain: (error: unknown) => unknown): Wrapped {
  const rethrow = (error: unknown): never => {
    throw explain(error);
  };
  return new Proxy(wrapped, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      return (...parameters: unknown[]) => {
        try {
          const result: unknown = Reflect.apply(value, target, parameters);
          return result instanceof Promise ? result.catch(rethrow) : result;
        } catch (error) {
          return rethrow(error);
        }
      };
    },
  });
}
