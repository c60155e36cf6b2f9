import { enableCompileCache } from 'node:module';
import { join } from 'node:path';

// A start takes half as long from the second one on. Where the folder cannot be written, nothing is kept.
enableCompileCache(join(import.meta.dirname, '../../node_modules/.cache/compiled'));
await import('./run-service.ts');
