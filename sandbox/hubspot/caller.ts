/** On whose behalf a call runs. */
export interface Caller {
  kind: 'oauth' | 'private';
  clientId: string;
  scopes: ReadonlySet<string>;
}
