"""What people need to know about the data sets beyond their files: licences, faults, sources, citations."""

from sgeval.data.kinds import Licence
from sgeval.readers import fgov, ssg, vg150, visual_genome

WHERE = {
    "psg": "https://psgdataset.org and https://github.com/Jingkang50/OpenPSG, by their links to OneDrive",
    "vg": visual_genome.HOME,
    "vg_pictures": "https://cs.stanford.edu/people/rak248/VG_100K_2/: images.zip (9 GB), images2.zip (5 GB)",
    "vg150": vg150.WHERE,
    "ssg": f"{ssg.HOME}, by its link to Google Drive",
    "fgov": "its authors",
    "rlipv2": fgov.RLIPV2,
    "pvsg": "https://huggingface.co/datasets/Jingkang/PVSG",
    "vidor": "https://huggingface.co/datasets/shangxd/vidor or https://xdshang.github.io/docs/vidor.html",
    "vipseg": "https://github.com/VIPSeg-Dataset/VIPSeg-Dataset, by its link to Google Drive or Baidu",
    "vipseg_code": "https://github.com/VIPSeg-Dataset/VIPSeg-Dataset",
    "svg2": "https://huggingface.co/datasets/UWGZQ/Synthetic_Visual_Genome2",
}

PVSG_MD5 = {
    "Ego4D/ego4d_videos.zip": "9334c74f5c831c80774862afa9d3f7f0",
    "Ego4D/ego4d_masks.zip": "218ce689e1e8284e25b50280a5d29612",
    "EpicKitchen/epic_kitchen_videos.zip": "b791a71ef24b14721a7b5041190ba4a3",
    "EpicKitchen/epic_kitchen_masks.zip": "03757120075de23328a11e56660175f4",
    "VidOR/vidor_videos.zip": "fcc1a6f54ef60aa16fab335a6270c960",
    "VidOR/vidor_masks.zip": "17bfa5ec13235d86273bc9d067776862",
}
"""As tools/unzip_and_extract.py of the authors' code has them."""

LICENCES = {
    "psg": Licence(
        "other",
        "The authors' repository is under the MIT licence; for the annotation files none is stated. Panoptic masks are those "
        "of COCO 2017 (CC BY 4.0), pictures belong to users of Flickr, each under terms of its own.",
        "Use for research is what they were published for. Passing the annotations on is not granted in writing.",
        "nothing",
    ),
    "visual_genome": Licence(
        "cc-by-4.0",
        "Annotations: CC BY 4.0. Pictures come from Flickr (by way of COCO and YFCC100M), each under terms of its own.",
        "Annotations may be used, changed and passed on, also for money, with the authors named.",
        "annotations",
    ),
    "vg150": Licence(
        "cc-by-4.0",
        "Annotations are a part of Visual Genome's, CC BY 4.0; the files and the dictionary come from repositories under the "
        "MIT licence. Pictures as in Visual Genome.",
        "Annotations may be used, changed and passed on, also for money, with the authors named.",
        "annotations",
    ),
    "ssg": Licence(
        "other",
        "No licence is stated. Action Genome's code is under the MIT licence; Charades, whose videos the frames come from, "
        "is for non-commercial use.",
        "Use for research is what they were published for. Passing them on is not granted.",
        "nothing",
    ),
    "fgov": Licence(
        "other",
        "No licence is stated, and no file is published. Pictures of COCO and Objects365 have terms of their own.",
        "Whatever the authors grant to whoever they give the files to.",
        "nothing",
    ),
    "pvsg": Licence(
        "other",
        "The data set's card on the Hub says MIT; the authors' code is under the S-Lab License 1.0, for non-commercial use. "
        "Videos of Ego4D, EPIC-KITCHENS and VidOR have terms of their own.",
        "Use for research is what it was published for; keep to non-commercial use, since the two grants differ.",
        "nothing",
    ),
    "vidor": Licence(
        "cc-by-sa-4.0",
        "The data set's card on the Hub says CC BY-SA 4.0. Videos come from Flickr (YFCC100M), each under terms of its own.",
        "Annotations may be used, changed and passed on under the same licence, with the authors named.",
        "annotations",
    ),
    "vipseg": Licence(
        "other",
        "The authors' page says: for non-commercial research purposes only. No licence text is given. Videos come from "
        "the web (YouTube, by their ids), each under terms of its own.",
        "Non-commercial research. Passing the files on is not granted.",
        "nothing",
    ),
    "svg2_test": Licence(
        "other",
        "The authors' code is under Apache-2.0; annotations stand under the terms of the sets whose videos they describe: "
        "VIPSeg for non-commercial research, SA-V under CC BY 4.0. The card on the Hub, not seen here, may say more.",
        "Non-commercial research. Passing the annotations of VIPSeg's videos on is not granted.",
        "nothing",
    ),
}

CORRUPTED = f"{', '.join(vg150.CORRUPTED[:-1])} and {vg150.CORRUPTED[-1]}"

FAULTS = {
    "psg": (
        '"val" has two meanings: the 1,000 val pictures of the competition are a part of the full set\'s test pictures; '
        "those of SGG-Benchmark (config `sgg_benchmark`) are the first 1,000 of its train pictures.",
        "Relations of the competition's test pictures were emptied by the publisher.",
        "9 of the 2,186 test pictures have no relation; papers report on 2,177.",
        "Repeated triplets and several predicates on one pair are normal.",
        "Some COCO pictures stand under two ids. One id appears to stand twice: 48,749 distinct ids in 48,750 records.",
        'Some labels are left over from a mapping of Visual Genome ("person wearing person").',
        "Segment ids are those of the panoptic masks, not those of COCO's instances.",
    ),
    "visual_genome": (
        "No official split: everything is in `train`, since the host wants a name.",
        "Boxes reach far outside the picture, down to y = -904. Nothing is clipped.",
        "Some sizes in image_data.json are not those of the pictures.",
        f"Pictures {CORRUPTED} are broken; some 170 more have been reported empty.",
        "VG_100K and VG_100K_2 hold different pictures; each is looked for in the folder that its address names.",
        "Predicates and names are free text, in mixed case, some with blanks at the end; synsets may be missing.",
        "Ends of relations may be objects that were merged into others; they are resolved, the old id stays in `extra`.",
        "Counts differ between releases 1.0, 1.2 and 1.4.",
    ),
    "vg150": (
        f"Rows belong to image_data.json without the pictures {CORRUPTED}.",
        "The published code cuts box edges towards zero, up to one unit of 1024 off; config `exact` does not.",
        f"`val` is the first {vg150.N_VAL:,} train rows with boxes and relations; papers drop all rows without "
        "relations, nothing is dropped here.",
        "Wrong sizes in image_data.json scale the boxes of those pictures wrongly.",
        "man, men, person and people overlap as classes. Repeated relations exist.",
        f"A download cut short at 146,680,184 of {vg150.H5_BYTES:,} bytes has been reported.",
    ),
    "ssg": (
        "Boxes of objects are x, y, width, height in the source, those of persons are corners.",
        "Spatial relations go from the object to the person, all others from the person to the object.",
        "Invisible objects have neither box nor relations.",
        "Frame numbers depend on the version of ffmpeg that dumped them.",
        "The released code uses a list of videos in which a missing comma joins two names; that list is not in the files.",
        "A frame without objects has no split and is in neither `train` nor `test`.",
        "Roles `state` and `purpose` exist for a part of the objects only.",
    ),
    "fgov": (
        "Relations were written by a model, not annotated by people.",
        "It is of pictures of COCO and Objects365. The same form has records of other sets, among them those without "
        "`dataset`, of Visual Genome, whose pictures FG-OV does not have: they are passed over, and a warning counts them.",
        "Exact repeats and several predicates on one pair are expected.",
        "Sizes of pictures are not in the file; width and height are null.",
        "relationship_id need not be unique; object_id counts on through the file.",
        "Some copies of image_id_to_filepath.json lack pictures; those have no `file_name`; `sgeval data info` counts them.",
        'Some names of Objects365 end in a blank ("Table Tennis ").',
        "`train` and `val` are the splits of COCO or Objects365 that a picture comes from; the set has none of its own.",
    ),
    "pvsg": (
        'Some predicates ("squatting on") are not in the class list: `predicate_id` is -1. Published training code passes '
        "over them.",
        "Relations hold by design while an end of theirs is not to be seen.",
        "Some spans reach beyond the clip, or lie wholly past its end. They are kept and flagged in `extra`.",
        "Published code reads spans one frame short; both ends are inside.",
        "Which of the three sources a video has is said by `split`, not by its name.",
        "Some frames have a mask that is background all over.",
        "Frames dumped with OpenCV can be fewer than masks. `num_frames` of them are looked for, from 0000.png on.",
        "The archives hold junk paths, and names of frames repeat from video to video: unpack each video into a folder of "
        "its own. How the archives of masks are nested is not sure.",
        "Class names contain misspellings (ballon, vaccum, scissor); they are left as they are.",
    ),
    "vidor": (
        "frame_count can be higher than the number of frames with boxes; the lower is taken, and flagged in `extra`.",
        "An object may have no box in frames inside a relation of it.",
        "Many relations repeat a triplet, each with its own span. They are kept apart.",
        'Names hold "/", "_" and brackets ("ball/sports_ball", "play(instrument)").',
        "No file holds a class list, so `category_id` and `predicate_id` are -1. The authors count 80 categories and 50 "
        "predicates (42 actions, 8 of space).",
        "Annotations of the 2,165 test videos are not public.",
        "Some videos were withdrawn from Flickr.",
        "The names of the archives on the Hub (training-annotation.zip, …) are not sure.",
    ),
    "vipseg": (
        "There are no relations.",
        "Names of frames in the 720p file end in .png, while the frames are .jpg; frames are looked for as .jpg.",
        "Frames are named by their numbers in the source video (every few frames one), not 0, 1, 2.",
        "No file says how many frames a second has: `fps` is null; `fps=6` takes the rate at which SVG2 plays the 720p "
        "frames.",
        "The value 200 in raw masks makes an instance of a class of stuff (reported for frame 00000392 of "
        "353_-5sqmCF8OFU, where 0 was meant). It is kept and flagged in `extra`. In the 720p form it is part of that stuff "
        "and cannot be told.",
        'The class "others", 0 in raw masks, has no name among the 124; those pixels belong to nothing.',
        "Masks of the 387 test clips are not public; their clips have frames and no objects.",
        "Widths at 720p are cut to whole numbers and may be odd, which some encoders of clips refuse.",
        "There are no boxes in the files; `with_masks` derives them from the masks.",
        "Annotations were refined on 21 June 2022; earlier downloads differ.",
    ),
    "svg2_test": (
        "Spans are half-open seconds, other than in SVG2's training sets, whose ends are inside: only so do they fit the "
        "lengths of the clips. Code that reads them as inclusive is about.",
        "Some spans have no length ([1, 1]) and are empty as half-open ones, some overlap or repeat; all are kept and "
        "flagged.",
        "About 7 % of the ends of spans are half seconds.",
        "-1 as subject or object is the camera, for which there is no object.",
        "Numbers of objects need not be 0, 1, 2; an object may lack a column of masks.",
        "Masks may cover fewer frames than the video; the rest is empty. They do not tell how long a video is.",
        'Labels hold "_", "/", capitals and "(uncertain)"; they are left as they are.',
        "Which keys a typed attribute has is not sure: the type is the text that is not the attribute.",
        "Objects have a level: L1 for whole ones, L2 and L3 for parts.",
        "No file says how many frames a second masks and clips have: `fps` is null. VIPSeg's are said to be played at 6; "
        'of SA-V\'s nothing is said here. `fps={"vipseg": 6}` gives the rate by part.',
        "Videos are not part of it: 67 are VIPSeg's frames at 720p, played at 6 frames a second, 33 are of SA-V.",
    ),
}

_VISUAL_GENOME = """@article{krishna2017visual,
  title   = {Visual Genome: Connecting Language and Vision Using Crowdsourced Dense Image Annotations},
  author  = {Krishna, Ranjay and Zhu, Yuke and Groth, Oliver and Johnson, Justin and Hata, Kenji and Kravitz, Joshua and
             Chen, Stephanie and Kalantidis, Yannis and Li, Li-Jia and Shamma, David A. and Bernstein, Michael S. and
             Fei-Fei, Li},
  journal = {International Journal of Computer Vision},
  year    = {2017}
}"""

CITATIONS = {
    "psg": """@inproceedings{yang2022panoptic,
  title     = {Panoptic Scene Graph Generation},
  author    = {Yang, Jingkang and Ang, Yi Zhe and Guo, Zujin and Zhou, Kaiyang and Zhang, Wayne and Liu, Ziwei},
  booktitle = {European Conference on Computer Vision},
  year      = {2022}
}""",
    "visual_genome": _VISUAL_GENOME,
    "vg150": """@inproceedings{xu2017scene,
  title     = {Scene Graph Generation by Iterative Message Passing},
  author    = {Xu, Danfei and Zhu, Yuke and Choy, Christopher B. and Fei-Fei, Li},
  booktitle = {Conference on Computer Vision and Pattern Recognition},
  year      = {2017}
}

"""
    + _VISUAL_GENOME,
    "ssg": """@inproceedings{sugandhika2025situational,
  title     = {Situational Scene Graph for Structured Human-centric Situation Understanding},
  author    = {Sugandhika, Chinthani and Li, Chen and Rajan, Deepu and Fernando, Basura},
  booktitle = {Winter Conference on Applications of Computer Vision},
  year      = {2025},
  note      = {arXiv:2410.22829}
}""",
    "fgov": """@inproceedings{neau2025measuring,
  title     = {Measuring Image-Relation Alignment: Reference-Free Evaluation of {VLMs} and Synthetic Pre-training for
               Open-Vocabulary Scene Graph Generation},
  author    = {Neau, Maëlic and Falomir, Zoe and Buche, Cédric and Sugimoto, Akihiro},
  booktitle = {International Conference on Computer Vision Workshops},
  year      = {2025},
  note      = {arXiv:2509.01209}
}""",
    "pvsg": """@inproceedings{yang2023panoptic,
  title     = {Panoptic Video Scene Graph Generation},
  author    = {Yang, Jingkang and Peng, Wenxuan and Li, Xiangtai and Guo, Zujin and Chen, Liangyu and Li, Bo and Ma, Zheng and
               Zhou, Kaiyang and Zhang, Wayne and Loy, Chen Change and Liu, Ziwei},
  booktitle = {Conference on Computer Vision and Pattern Recognition},
  year      = {2023}
}""",
    "vidor": """@misc{shang_vidor,
  title  = {Annotating Objects and Relations in User-Generated Videos},
  author = {Shang, Xindi and Di, Donglin and Xiao, Junbin and Cao, Yu and Yang, Xun and Chua, Tat-Seng}
}""",
    "vipseg": """@inproceedings{miao2022large,
  title     = {Large-scale Video Panoptic Segmentation in the Wild: A Benchmark},
  author    = {Miao, Jiaxu and Wang, Xiaohan and Wu, Yu and Li, Wei and Zhang, Xu and Wei, Yunchao and Yang, Yi},
  booktitle = {Conference on Computer Vision and Pattern Recognition},
  year      = {2022}
}""",
    "svg2_test": """@inproceedings{gao2026synthetic,
  title     = {Synthetic Visual Genome 2: Extracting Large-scale Spatio-Temporal Scene Graphs from Videos},
  author    = {Gao, Ziqi and Zhang, Jieyu and Ikezogwo, Wisdom Oluchi and Park, Jae Sung and You, Tario G and Ogbu, Daniel and
               Zheng, Chenhao and Huang, Weikai and Yang, Yinuo and Han, Winson and Kong, Quan and Saini, Rajat and
               Krishna, Ranjay},
  booktitle = {European Conference on Computer Vision},
  year      = {2026},
  note      = {arXiv:2602.23543}
}""",
}
