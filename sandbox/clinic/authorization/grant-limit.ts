/** Keeps at most `limit` grants with tokens per client and user: the oldest one dies when another is made. */
export interface GrantLimit {
  /** Call when a grant received tokens; the same grant may come again. */
  note(clientId: string, sub: string, grantId: string): void;
}

export function createGrantLimit(limit: number, revokeGrant: (grantId: string) => void): GrantLimit {
  const grants = new Map<string, string[]>();

  function note(clientId: string, sub: string, grantId: string): void {
    const key = JSON.stringify([clientId, sub]);
    const held = grants.get(key) ?? [];
    if (held.includes(grantId)) return;
    held.push(grantId);
    while (held.length > limit) {
      const oldest = held.shift();
      if (oldest !== undefined) revokeGrant(oldest);
    }
    grants.set(key, held);
  }

  return { note };
}
