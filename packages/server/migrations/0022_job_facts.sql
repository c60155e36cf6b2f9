ALTER TABLE "backups" ADD COLUMN "change_count" bigint;--> statement-breakpoint
ALTER TABLE "restores" ADD COLUMN "started_by" text;--> statement-breakpoint
ALTER TABLE "restores" ADD COLUMN "stopped_by" text;