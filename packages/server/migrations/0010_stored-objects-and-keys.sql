CREATE TABLE "purged_organizations" (
	"id" text PRIMARY KEY NOT NULL,
	"purged_at" timestamp (3) with time zone NOT NULL
);
--> statement-breakpoint
ALTER TABLE "purged_organizations" ENABLE ROW LEVEL SECURITY;--> statement-breakpoint
ALTER TABLE "projects" ALTER COLUMN "backup_timeout_minutes" DROP DEFAULT;--> statement-breakpoint
ALTER TABLE "projects" ALTER COLUMN "backup_timeout_minutes" DROP NOT NULL;--> statement-breakpoint
UPDATE "projects" SET "backup_timeout_minutes" = NULL WHERE "backup_timeout_minutes" = 30;--> statement-breakpoint
ALTER TABLE "backups" ADD COLUMN "replaced_by" text;--> statement-breakpoint
ALTER TABLE "organization_keys" ADD COLUMN "passphrase" text;--> statement-breakpoint
ALTER TABLE "organizations" ADD COLUMN "recovery_kit_taken_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "drills" ADD COLUMN "target_found_empty_at" timestamp (3) with time zone;--> statement-breakpoint
ALTER TABLE "storage_destinations" ADD COLUMN "place_id" text;--> statement-breakpoint
CREATE POLICY "system" ON "purged_organizations" AS PERMISSIVE FOR ALL TO "holdfast_system" USING (true) WITH CHECK (true);