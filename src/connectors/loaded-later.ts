import type { Item } from '../model/items.ts';
import type { Connector, ConnectorContext, ExistingContacts, Subscriptions } from './connector.ts';

/** What is known of a vendor's connectors before their code is loaded. */
export interface LoadedLater<Settings, Wanted extends Item> {
  /** Imports the code and gives what opens a connector. */
  load(): Promise<(context: ConnectorContext<Settings>) => Connector<Wanted>>;
  /** Whether a connector under these settings has `locate`. */
  locates(settings: Settings): boolean;
  /** Whether it has `subscriptions`. */
  notifies: boolean;
  /** Whether it has `holders`. */
  namesHolders?: boolean;
  /** Whether it has `pagesOf`. */
  hasPages?(settings: Settings): boolean;
  /** Whether a connector of contacts under these settings has `existing`. */
  knowsExisting?(settings: Settings): boolean;
}

/**
 * Opens connectors whose code, with the vendor's libraries, is loaded when something is first asked of one: a process takes the memory and
 * the time of no vendor that it has nothing to do with.
 */
export function loadedLater<Settings, Wanted extends Item>({
  load,
  locates,
  notifies,
  namesHolders = false,
  hasPages = () => false,
  knowsExisting = () => false,
}: LoadedLater<Settings, Wanted>): (context: ConnectorContext<Settings>) => Connector<Wanted> {
  return (context) => {
    let connector: Promise<Connector<Wanted>> | null = null;
    const opened = () => {
      connector ??= load()
        .then((open) => open(context))
        .catch((error: unknown) => {
          // What failed once, as when the process had no file handle left, may succeed the next time.
          connector = null;
          throw error;
        });
      return connector;
    };
    const existing = async () => promised((await opened()).existing);
    const subscriptions = async () => promised((await opened()).subscriptions);
    return {
      prepare: async (...asked) => (await opened()).prepare(...asked),
      ...(locates(context.settings)
        ? { locate: async (signal: AbortSignal) => promised((await opened()).locate)(signal) }
        : {}),
      apply: async (...asked) => (await opened()).apply(...asked),
      async *read(...asked) {
        yield* (await opened()).read(...asked);
      },
      find: async (...asked) => (await opened()).find(...asked),
      changes: async (...asked) => (await opened()).changes(...asked),
      ...(namesHolders
        ? {
            holders: async (...asked: Parameters<NonNullable<Connector<Wanted>['holders']>>) =>
              promised((await opened()).holders)(...asked),
          }
        : {}),
      ...(hasPages(context.settings)
        ? {
            pagesOf: async (...asked: Parameters<NonNullable<Connector<Wanted>['pagesOf']>>) =>
              promised((await opened()).pagesOf)(...asked),
          }
        : {}),
      ...(context.crm?.stream === 'patients' && knowsExisting(context.settings)
        ? {
            existing: {
              async *list(signal) {
                yield* (await existing()).list(signal);
              },
              read: async (...asked) => (await existing()).read(...asked),
              stamp: async (...asked) => (await existing()).stamp(...asked),
            } satisfies ExistingContacts,
          }
        : {}),
      ...(notifies
        ? {
            subscriptions: {
              open: async (...asked) => (await subscriptions()).open(...asked),
              extend: async (...asked) => (await subscriptions()).extend(...asked),
              close: async (...asked) => (await subscriptions()).close(...asked),
            } satisfies Subscriptions,
          }
        : {}),
    };
  };
}

/** What the vendor's module says that its connectors have. */
function promised<Part>(part: Part | undefined): Part {
  if (part === undefined) throw new TypeError('a connector lacks what its module says that it has');
  return part;
}
