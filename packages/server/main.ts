import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

// Halves the time of every start after the first. If the folder is not writable, nothing is stored.
enableCompileCache(join(import.meta.dirname, '../../node_modules/.cache/compiled'));
await import('./run-service.ts');
