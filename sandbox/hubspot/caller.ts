/** App for which a call runs. */
export interface Caller {
  kind: 'oauth' | 'private';
  clientId: string;
  scopes: ReadonlySet<string>;
}
