import { isVendor, VENDORS } from './vendors.ts';

/** One vendor's sandbox: tells its parent where it is, and counts whenever it is asked to. */
const name = process.argv[2] ?? '';
if (!isVendor(name)) throw new Error('which vendor?');
const { target, units } = await VENDORS[name]();
process.on('message', () => process.send?.(units()));
process.once('disconnect', () => process.exit());
process.send?.(target);
