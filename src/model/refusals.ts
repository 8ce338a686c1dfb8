/** A property of a contact that is true for whoever refuses: to be written to, to be called. */
export interface Refusal {
  property: string;
  /**
   * The property with whose value the CRM keeps the refusal, such as the e-mail address of an opt-out: whoever is written last would decide for
   * all who have the same. Null where each contact has its own.
   */
  by: string | null;
}

/** Ids of records whose contacts somebody made refuse in the CRM itself, by property. */
export type RefusedThere = Readonly<Record<string, readonly string[]>>;
