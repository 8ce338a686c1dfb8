/** What an operator may meet, and the sentence and the next action that every surface then shows: `test/e2e/faults.test.ts` makes each of them happen. */
export interface Fault {
  code: string;
  needs: 'person' | 'time';
  sentence: string;
  /** Null where nothing is to be done. */
  next: string | null;
}

/** Each fault by what happened, as a person would tell it. */
export const FAULTS = {
  'nobody logged in to the clinic': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'the clinic login was revoked': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'a calendar login was revoked': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'a login lacks a permission': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'nobody said that the account is the right one': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'the user left the clinic': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'a login will end': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'a login rests for too long': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'a calendar was deleted': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'a calendar may no longer be written': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'a vendor asks to slow down': { code: 'TODO', needs: 'person', sentence: '', next: null },
  "a vendor's quota of the day is used up": { code: 'TODO', needs: 'person', sentence: '', next: null },
  'a vendor can not be reached': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'a login page stands before a vendor': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'a vendor fails': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'one entry is refused': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'too much would be removed': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'somebody edited an entry by hand': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'a file names an agenda that is not there': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'a row of the clinic can not be read': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'the clinic shows a part of its list': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'the clinic can not be reached': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'a login page stands before the clinic': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'the clinic fails': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'the clinic does not know the address': { code: 'TODO', needs: 'person', sentence: '', next: null },
  "a tenant's file has faults": { code: 'TODO', needs: 'person', sentence: '', next: null },
  'a changed file is refused': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'a changed setting needs a restart': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'an act waits for a second person': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'Redis may evict keys': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'Redis keeps nothing on its disk': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'nobody can be told by webhook': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'a channel of reminders is closed': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'a receiver of triggers is closed': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'a certificate ends': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'the budget of a client is short': { code: 'TODO', needs: 'person', sentence: '', next: null },
  "an account's quota of the day is short": { code: 'TODO', needs: 'person', sentence: '', next: null },
  'notifications can not be prolonged': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'changes pile up': { code: 'TODO', needs: 'person', sentence: '', next: null },
  'nobody works for the clinics': { code: 'TODO', needs: 'person', sentence: '', next: null },
} as const satisfies Record<string, Fault>;

/** A Markdown table with a row for each fault. */
export function renderFaults(faults: Readonly<Record<string, Fault>>): string {
  const rows = Object.entries(faults).map(([what, { code, needs, sentence, next }]) => {
    const action =
      next === null ? (needs === 'time' ? 'wait' : 'see the code') : isCommand(next) ? `\`${next}\`` : next;
    return `| ${what} | ${sentence} | \`${code}\` | ${needs === 'person' ? 'you' : 'time'} | ${action} |`;
  });
  return ['| what happened | what is said | code | who ends it | next action |', '|---|---|---|---|---|', ...rows].join(
    '\n',
  );
}

function isCommand(next: string): boolean {
  return next.startsWith('clinic-mirror ');
}
