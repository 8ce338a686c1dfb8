/** Whether an e-mail address is subscribed to one type of mail. */
type SubscriptionState = 'SUBSCRIBED' | 'UNSUBSCRIBED' | 'NOT_SPECIFIED';

/** Subscription of one e-mail address to one type. */
export interface SubscriptionStatus {
  status: SubscriptionState;
  source: string;
  legalBasis: string | undefined;
  legalBasisExplanation: string | undefined;
  at: number;
}

const FIRST_ID = 270_411_001;
/** Contact property for an opt-out from all mails. With the id of a type as suffix: opt-out from this type. HubSpot sets both. */
export const OPT_OUT = 'hs_email_optout';

/** Subscription types, and the status of each e-mail address. */
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

  /** Unsubscribes an e-mail address from all mails. */
  unsubscribeFromAll(address: string): void {
    this.#fromAll.add(address.trim().toLowerCase());
  }

  /** Returns the opt-out properties of a contact with these e-mail addresses. */
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
