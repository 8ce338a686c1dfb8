import { fileURLToPath } from 'node:url';
import { atMost, type Figure } from '../figure.ts';
import { toldBy } from '../told.ts';
import { AGENDA_HOLDS } from './world.ts';

const GOAL = 1.25;
const MAIN = fileURLToPath(new URL('./memory-main.ts', import.meta.url));
const SMALL_SHARE = 0.01;

/** The most memory of a process with one large tenant, against one with a hundredth of its appointments. */
export async function measureMemory({ large }: { large: number }, say: (text: string) => void): Promise<Figure[]> {
  const peakOf = async (appointments: number) => {
    say(`memory: one tenant of ${appointments} appointments …`);
    return await peakMebibytes(appointments);
  };
  const floor = await peakOf(Math.ceil(large * SMALL_SHARE));
  const ours = await peakOf(large);
  return [{ name: 'memory', ...atMost(GOAL, ours / floor), floor, ours, unit: 'MiB', n: large }];
}

/** Of a process that does a first sync and two quiet cycles. @throws Error when it fails */
async function peakMebibytes(appointments: number): Promise<number> {
  return await toldBy<number>(MAIN, appointments, Math.ceil(appointments / AGENDA_HOLDS));
}
