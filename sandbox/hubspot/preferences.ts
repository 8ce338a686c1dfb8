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

/** Types of mails, and who is subscribed to them, by address. */
export class Preferences {
  readonly types = new Map<number, string>();
  readonly #statuses = new Map<string, SubscriptionStatus>();

  /** Returns the new type's id. */
  addType(name: string): number {
    const id = FIRST_ID + this.types.size;
    this.types.set(id, name);
    return id;
  }

  status(address: string, id: number): SubscriptionStatus | undefined {
    return this.#statuses.get(nameOf(address, id));
  }

  set(address: string, id: number, status: SubscriptionStatus): void {
    this.#statuses.set(nameOf(address, id), status);
  }
}

function nameOf(address: string, id: number): string {
  return `${id} ${address.trim().toLowerCase()}`;
}
