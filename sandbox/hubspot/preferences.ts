/** Whether an address gets the mails of one type. */
type SubscriptionState = 'SUBSCRIBED' | 'UNSUBSCRIBED' | 'NOT_SPECIFIED';

/** What is known of one address and one type. */
export interface SubscriptionStatus {
  status: SubscriptionState;
  source: string;
  legalBasis: string | undefined;
  legalBasisExplanation: string | undefined;
  at: number;
}

const FIRST_ID = 270_411_001;
/** Contact properties that HubSpot sets: from all mails, and with the id of a type behind. */
export const OPT_OUT = 'hs_email_optout';

/** Types of mails, and who is subscribed to them, by address. */
export class Preferences {
  readonly types = new Map<number, string>();
  readonly #statuses = new Map<string, SubscriptionStatus>();
  readonly #fromAll = new Set<string>();

  /** Returns the new type's id. */
  addType(name: string): number {
    const id = FIRST_ID + this.types.size;
    this.types.set(id, name);
    return id;
  }

  status(address: string, id: number): SubscriptionStatus | undefined {
    return this.#statuses.get(nameOf(address, id));
  }

  /** Somebody unsubscribes from all mails. */
  unsubscribeFromAll(address: string): void {
    this.#fromAll.add(address.trim().toLowerCase());
  }

  /** What the properties of a contact with these addresses say. */
  optOuts(addresses: readonly string[]): Record<string, string> {
    const isOut = (id: number) => addresses.some((one) => this.status(one, id)?.status === 'UNSUBSCRIBED');
    const fromAll = addresses.some((one) => this.#fromAll.has(one.trim().toLowerCase()));
    const ids = [...this.types.keys()].filter((id) => fromAll || isOut(id));
    return Object.fromEntries([
      ...ids.map((id) => [`${OPT_OUT}_${id}`, 'true']),
      ...(fromAll ? [[OPT_OUT, 'true']] : []),
    ]);
  }

  set(address: string, id: number, status: SubscriptionStatus): void {
    this.#statuses.set(nameOf(address, id), status);
  }
}

function nameOf(address: string, id: number): string {
  return `${id} ${address.trim().toLowerCase()}`;
}
