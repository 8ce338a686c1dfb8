import type { Item } from '../core/model/items.ts';
import type { Connector, ConnectorContext, Contacts, Subscriptions } from './connector.ts';

/** Properties of a vendor's connectors that are known before their code is loaded. */
export interface LoadedLater<Settings, Wanted extends Item> {
  /** Imports the code and returns the function that opens a connector. */
  load(): Promise<(context: ConnectorContext<Settings>) => Connector<Wanted>>;
  /** Whether the connector has `subscriptions`. */
  notifies: boolean;
  /** Whether the connector has `pagesOf`. */
  hasPages?(settings: Settings): boolean;
  /** Whether a connector of contacts with these settings has `contacts`; `holders`: with `holders`. */
  hasContacts?(settings: Settings): boolean | 'holders';
}

/**
 * Opens connectors whose code and vendor libraries are loaded at the first use, so that a process spends no memory and time on unused
 * vendors.
 */
export function loadedLater<Settings, Wanted extends Item>({
  load,
  notifies,
  hasPages = () => false,
  hasContacts = () => false,
}: LoadedLater<Settings, Wanted>): (context: ConnectorContext<Settings>) => Connector<Wanted> {
  return (context) => {
    let connector: Promise<Connector<Wanted>> | null = null;
    const opened = () => {
      connector ??= load()
        .then((open) => open(context))
        .catch((error: unknown) => {
          // A failed import, for example without free file handles, may succeed later.
          connector = null;
          throw error;
        });
      return connector;
    };
    const contacts = async () => promised((await opened()).contacts);
    const contactsKind = context.crm?.stream === 'patients' && hasContacts(context.settings);
    const subscriptions = async () => promised((await opened()).subscriptions);
    return {
      prepare: async (...asked) => (await opened()).prepare(...asked),
      apply: async (...asked) => (await opened()).apply(...asked),
      async *read(...asked) {
        yield* (await opened()).read(...asked);
      },
      find: async (...asked) => (await opened()).find(...asked),
      changes: async (...asked) => (await opened()).changes(...asked),
      ...(hasPages(context.settings)
        ? {
            pagesOf: async (...asked: Parameters<NonNullable<Connector<Wanted>['pagesOf']>>) =>
              promised((await opened()).pagesOf)(...asked),
          }
        : {}),
      ...(contactsKind !== false
        ? {
            contacts: {
              async *list(signal) {
                yield* (await contacts()).list(signal);
              },
              read: async (...asked) => (await contacts()).read(...asked),
              stamp: async (...asked) => (await contacts()).stamp(...asked),
              ...(contactsKind === 'holders' && {
                holders: async (...asked) => promised((await contacts()).holders)(...asked),
              }),
            } satisfies Contacts<Wanted>,
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

/** Returns a part that the vendor's module declares. */
function promised<Part>(part: Part | undefined): Part {
  if (part === undefined) throw new TypeError('a connector lacks a part that its module declares');
  return part;
}
